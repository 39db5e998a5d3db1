// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/module_model.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <utility>

namespace epochd::engine {
namespace {

std::vector<NamedTensor> Copy(
    const torch::OrderedDict<std::string, at::Tensor>& named) {
  std::vector<NamedTensor> tensors;
  tensors.reserve(named.size());
  for (const auto& item : named) tensors.push_back({item.key(), item.value()});
  return tensors;
}

}  // namespace

ModuleModel::ModuleModel(std::shared_ptr<torch::nn::Module> module,
                         ForwardFunction forward, ModelFields fields)
    : module_(std::move(module)),
      forward_(std::move(forward)),
      fields_(std::move(fields)),
      first_parameter_(module_->parameters().at(0)) {}

Batch ModuleModel::Forward(const Batch& batch) {
  Batch output;
  output.Set(fields_.output, forward_(batch.At(fields_.input)));
  return output;
}

std::vector<NamedTensor> ModuleModel::Parameters() const {
  return Copy(module_->named_parameters());
}

std::vector<NamedTensor> ModuleModel::Buffers() const {
  return Copy(module_->named_buffers());
}

void ModuleModel::SetTraining(bool training) {
  module_->train(training);
  for (torch::nn::Module* norm : still_) norm->eval();
}

void ModuleModel::Freeze(const std::vector<std::string>& names) {
  Model::Freeze(names);
  for (const auto& module : module_->modules()) {
    const auto own = module->parameters(/*recurse=*/false);
    const bool has_statistics =
        module->named_buffers(/*recurse=*/false).contains("running_mean");
    if (has_statistics && !own.empty() &&
        std::none_of(own.begin(), own.end(), [](const at::Tensor& each) {
          return each.requires_grad();
        })) {
      still_.push_back(module.get());
      module->eval();
    }
  }
}

void ModuleModel::To(c10::Device device) { module_->to(device); }

}  // namespace epochd::engine
