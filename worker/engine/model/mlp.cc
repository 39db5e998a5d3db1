// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/mlp.h"

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>

#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// The argument is a layer's fresh output, so what needs only its own result
// for the gradient works in place.
using Activation = at::Tensor (*)(at::Tensor);

struct NamedActivation {
  const char* name;
  Activation function;
};

constexpr NamedActivation kActivations[] = {
    {"relu", [](at::Tensor x) { return x.relu_(); }},
    {"gelu", [](at::Tensor x) { return at::gelu(x); }},
    {"silu", [](at::Tensor x) { return at::silu(x); }},
    {"tanh", [](at::Tensor x) { return x.tanh_(); }},
    {"sigmoid", [](at::Tensor x) { return x.sigmoid_(); }},
    {"leaky_relu", [](at::Tensor x) { return at::leaky_relu(x); }},
};

Activation FindActivation(const std::string& name) {
  std::string known;
  for (const NamedActivation& activation : kActivations) {
    if (name == activation.name) return activation.function;
    known += std::string(known.empty() ? "" : ", ") + activation.name;
  }
  throw Error(ErrorKind::kBadSpec, "activation: unknown \"" + name + "\"; " +
                                       known + " are accepted");
}

class MlpModule : public torch::nn::Module {
 public:
  explicit MlpModule(const MlpOptions& options)
      : activation_(FindActivation(options.activation)),
        dropout_(options.dropout),
        flatten_(options.flatten) {
    const int64_t stride = options.dropout > 0 ? 3 : 2;
    std::vector<int64_t> widths = options.hidden;
    widths.push_back(options.out_features);
    net_ = register_module("net", std::make_shared<torch::nn::Module>());
    int64_t in_features = options.in_features;
    int64_t index = 0;
    for (const int64_t width : widths) {
      torch::nn::Linear layer(in_features, width);
      layers_.push_back(
          net_->register_module(std::to_string(index), std::move(layer)));
      in_features = width;
      index += stride;
    }
  }

  at::Tensor Forward(const at::Tensor& input) {
    at::Tensor x = flatten_ && input.dim() > 2 ? input.flatten(1) : input;
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = at::linear(x, layers_[i]->weight, layers_[i]->bias);
      if (i + 1 == layers_.size()) break;
      x = activation_(std::move(x));
      if (dropout_ > 0) x = at::dropout(x, dropout_, is_training());
    }
    return x;
  }

 private:
  const Activation activation_;
  const double dropout_;
  const bool flatten_;
  std::shared_ptr<torch::nn::Module> net_;
  std::vector<torch::nn::Linear> layers_;
};

}  // namespace

std::vector<std::string> MlpActivations() {
  std::vector<std::string> names;
  for (const NamedActivation& activation : kActivations) {
    names.push_back(activation.name);
  }
  return names;
}

std::shared_ptr<Model> MakeMlp(const MlpOptions& options) {
  auto module = std::make_shared<MlpModule>(options);
  MlpModule* const mlp = module.get();
  return std::make_shared<ModuleModel>(
      std::move(module),
      [mlp](const at::Tensor& input) { return mlp->Forward(input); },
      options.fields);
}

}  // namespace epochd::engine
