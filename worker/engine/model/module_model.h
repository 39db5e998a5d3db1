// SPDX-License-Identifier: Apache-2.0
//
// ModuleModel: a torch::nn::Module as a Model: one input field, one output
// field. Parameters and buffers carry the module's own names, which built-in
// modules take from their Python originals.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace epochd::engine {

// Names of the fields that a model reads and returns.
struct ModelFields {
  std::string input = "input";
  std::string output = "output";
};

class ModuleModel : public Model {
 public:
  using ForwardFunction = std::function<at::Tensor(const at::Tensor& input)>;

  // `forward` calls `module`, which it must not own.
  ModuleModel(std::shared_ptr<torch::nn::Module> module,
              ForwardFunction forward, ModelFields fields);

  Batch Forward(const Batch& batch) override;
  std::vector<NamedTensor> Parameters() const override;
  std::vector<NamedTensor> Buffers() const override;
  void SetTraining(bool training) override;
  void To(c10::Device device) override;
  void Freeze(const std::vector<std::string>& names) override;

  const ModelFields& fields() const { return fields_; }

 protected:
  at::Tensor Call(const at::Tensor& input) { return forward_(input); }
  // Tells device and type of the model.
  const at::Tensor& first_parameter() const { return first_parameter_; }

 private:
  const std::shared_ptr<torch::nn::Module> module_;
  const ForwardFunction forward_;
  const ModelFields fields_;
  const at::Tensor first_parameter_;
  // Frozen normalizations.
  std::vector<torch::nn::Module*> still_;
};

}  // namespace epochd::engine
