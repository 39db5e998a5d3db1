// SPDX-License-Identifier: Apache-2.0
//
// The models that every loop trains, as somebody writes them with torch::nn.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>

#include "bench/loop/workload.h"

namespace epochd::bench {

class Network : public torch::nn::Module {
 public:
  virtual at::Tensor Forward(const at::Tensor& input) = 0;
};

// The same initial weights at each call.
std::shared_ptr<Network> MakeNetwork(Workload::Model model);

}  // namespace epochd::bench
