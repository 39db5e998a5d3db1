// SPDX-License-Identifier: Apache-2.0
//
// The parameters that every hook has beside its own: where it stands among the
// others and which passes it takes part in
// (`hooks: [{type: GradientClip, priority: LOW, scope: train}]`).
#pragma once

#include <vector>

#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<catalogue::Parameter> HookParameters();

// Reads them into the hook. Throws Error(kBadSpec) naming the parameter.
void ApplyHookParameters(const Params& params, Hook& hook);

}  // namespace epochd::engine
