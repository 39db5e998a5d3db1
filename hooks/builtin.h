// SPDX-License-Identifier: Apache-2.0
//
// The built-in hooks: one explicit list.
#pragma once

#include <vector>

#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

std::vector<engine::Entry<engine::Hook>> BuiltinHooks();

}  // namespace epochd::hooks
