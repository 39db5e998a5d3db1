// SPDX-License-Identifier: Apache-2.0
//
// BackwardPass: differentiates losses, one after another, as Tensor::backward()
// does and to the same bits, for less. A graph that is on the CPU alone and has
// no hooks is walked by the calling thread: autograd's engine sets all of a
// thread's state twice for each node, which is a fifth of the step of a small
// model. Any other graph is the engine's. One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace epochd::engine {

class BackwardPass {
 public:
  BackwardPass();
  ~BackwardPass();
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

  // Adds to the gradients of what the loss was made of, and lets go of what
  // its graph had saved.
  void Run(const at::Tensor& loss);

 private:
  class Walk;
  const std::unique_ptr<Walk> walk_;
  at::Tensor one_;  // what the last loss began with
};

}  // namespace epochd::engine
