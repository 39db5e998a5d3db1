// SPDX-License-Identifier: Apache-2.0
//
// What somebody writes who has nothing but LibTorch's C++ front end: torch::nn
// modules, an optimizer and a for loop.
#pragma once

#include "bench/loop/workload.h"

namespace epochd::bench {

// Weights that every loop starts from, by name.
NamedWeights InitialWeights(Workload::Model model);

// `fused`: the update is one call of ATen's fused kernel, as the engine's is,
// in place of torch::optim::SGD. The two round differently.
Result RunRawLoop(const Workload& workload, const Data& data, Batches batches,
                  bool fused);

}  // namespace epochd::bench
