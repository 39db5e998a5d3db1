// SPDX-License-Identifier: Apache-2.0
//
// The components that this program can build: the engine's, the built-in hooks
// and those of plugins.
#pragma once

#include "worker/engine/registry/plugin.h"
#include "worker/engine/registry/registry.h"

namespace epochd::trainer {

// Frozen by the first call, which comes before there are threads.
const engine::Registry& Components();

// Before the first call of Components(), both.
void AllowTorchScript();
void AddPlugin(const engine::Plugin& plugin);

}  // namespace epochd::trainer
