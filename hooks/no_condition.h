// SPDX-License-Identifier: Apache-2.0
//
// NoCondition: the stop condition that never stops, which SR-Forge's files name
// where there is none.
#pragma once

#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

engine::Entry<engine::Hook> NoConditionEntry();

}  // namespace epochd::hooks
