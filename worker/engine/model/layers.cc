// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/layers.h"

namespace epochd::engine {

void RequireSides(const at::Tensor& x, int64_t multiple, const char* model) {
  if (x.dim() == 4 && x.size(2) > 0 && x.size(3) > 0 &&
      x.size(2) % multiple == 0 && x.size(3) % multiple == 0) {
    return;
  }
  throw Error(ErrorKind::kTraining,
              std::string(model) + ": images of " + c10::str(x.sizes()) +
                  "; [B, C, H, W] with sides that are multiples of " +
                  std::to_string(multiple) + " is accepted");
}

at::Tensor Sequence::Forward(const at::Tensor& x) {
  at::Tensor value = x;
  for (const Function& function : functions_) value = function(value);
  return value;
}

void Sequence::Add(const std::string& name, std::shared_ptr<Layer> layer) {
  register_module(name, layer);
  functions_.push_back(
      [layer = layer.get()](const at::Tensor& x) { return layer->Forward(x); });
}

torch::nn::Conv2d MakeConv2d(int64_t in, int64_t out, int64_t kernel,
                             int64_t stride, bool bias) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel)
                               .stride(stride)
                               .padding((kernel - 1) / 2)
                               .bias(bias));
}

Sequence::Function Relu() {
  return [](at::Tensor x) { return x.relu_(); };
}

Sequence::Function LeakyRelu(double negative_slope) {
  return [negative_slope](at::Tensor x) {
    return at::leaky_relu_(x, negative_slope);
  };
}

std::shared_ptr<Model> MakeModel(std::shared_ptr<Layer> layer,
                                 ModelFields fields) {
  Layer* const module = layer.get();
  return std::make_shared<ModuleModel>(
      std::move(layer),
      [module](const at::Tensor& input) { return module->Forward(input); },
      std::move(fields));
}

}  // namespace epochd::engine
