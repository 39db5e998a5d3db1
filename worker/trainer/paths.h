// SPDX-License-Identifier: Apache-2.0
//
// Files that an experiment names must be on this machine.
#pragma once

#include "catalogue/catalogue.h"

namespace epochd::trainer {

// Throws engine::Error(kBadSpec) naming each missing file's field, path and
// this machine.
void CheckPaths(const catalogue::Catalogue& catalogue,
                const catalogue::Json& experiment);

}  // namespace epochd::trainer
