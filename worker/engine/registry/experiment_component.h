// SPDX-License-Identifier: Apache-2.0
//
// The declaration of the experiment section itself.
#pragma once

#include "catalogue/catalogue.h"

namespace epochd::engine {

catalogue::Component ExperimentComponent();

}  // namespace epochd::engine
