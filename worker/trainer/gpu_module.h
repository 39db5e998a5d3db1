// SPDX-License-Identifier: Apache-2.0
//
// Opens the GPU module. Once in a process, after it was forked.
#pragma once

#include "worker/cuda/module.h"

namespace epochd::trainer {

// Throws engine::Error(kInfrastructure) when there is no module, or no GPU.
const cuda::Module& OpenGpuModule();

}  // namespace epochd::trainer
