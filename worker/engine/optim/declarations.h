// SPDX-License-Identifier: Apache-2.0
//
// What job files may say of each built-in optimizer: names and defaults are
// torch's. Pure functions, any thread.
#pragma once

#include "catalogue/catalogue.h"

namespace epochd::engine::optimizer_declarations {

catalogue::Component SgdComponent();
catalogue::Component AdamComponent();
catalogue::Component AdamwComponent();
catalogue::Component AdagradComponent();
catalogue::Component RmspropComponent();
catalogue::Component NadamComponent();
catalogue::Component RadamComponent();
catalogue::Component AdamaxComponent();
catalogue::Component LionComponent();
catalogue::Component LbfgsComponent();

}  // namespace epochd::engine::optimizer_declarations
