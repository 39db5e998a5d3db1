// SPDX-License-Identifier: Apache-2.0
//
// What built-in models are made of: Layer, a torch::nn::Module with a forward
// pass from one tensor to one, and Sequence, Python's nn.Sequential. Children
// are registered under the names of the Python original, in its order, so that
// files of weights and the initial weights of a seed agree. Construct layers
// one by one: the order in which arguments of a call are evaluated is open.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/model/module_model.h"

namespace epochd::engine {

class Layer : public torch::nn::Module {
 public:
  virtual at::Tensor Forward(const at::Tensor& x) = 0;
};

// Throws Error(kTraining) naming `model` unless `x` is [B, C, H, W] with sides
// that are multiples of `multiple`.
void RequireSides(const at::Tensor& x, int64_t multiple, const char* model);

// Layers in order. What is added without a name is named by its place; what
// has no parameters takes a place too.
class Sequence : public Layer {
 public:
  using Function = std::function<at::Tensor(at::Tensor)>;

  at::Tensor Forward(const at::Tensor& x) override;

  void Add(const std::string& name, std::shared_ptr<Layer> layer);
  void Add(std::shared_ptr<Layer> layer) { Add(Place(), std::move(layer)); }
  // A module of LibTorch's, such as torch::nn::Conv2d.
  template <class Impl>
  void Add(const std::string& name,
           const torch::nn::ModuleHolder<Impl>& module) {
    register_module(name, module.ptr());
    // The module keeps it alive.
    functions_.push_back([layer = module.ptr().get()](const at::Tensor& x) {
      return layer->forward(x);
    });
  }
  template <class Impl>
  void Add(const torch::nn::ModuleHolder<Impl>& module) {
    Add(Place(), module);
  }
  void AddFunction(Function function) {
    functions_.push_back(std::move(function));
  }

 private:
  std::string Place() const { return std::to_string(functions_.size()); }

  std::vector<Function> functions_;
};

// A convolution that keeps the size of an image with an odd `kernel`.
torch::nn::Conv2d MakeConv2d(int64_t in, int64_t out, int64_t kernel,
                             int64_t stride = 1, bool bias = true);

Sequence::Function Relu();
Sequence::Function LeakyRelu(double negative_slope);

// The module, which has parameters, as a model of one input and one output.
std::shared_ptr<Model> MakeModel(std::shared_ptr<Layer> layer,
                                 ModelFields fields);

}  // namespace epochd::engine
