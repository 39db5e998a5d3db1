// SPDX-License-Identifier: Apache-2.0
//
// The components that this program can build: the engine's and the built-in
// hooks.
#pragma once

#include "worker/engine/registry/registry.h"

namespace epochd::trainer {

// Frozen; built at the first call, before there are threads.
const engine::Registry& Components();

}  // namespace epochd::trainer
