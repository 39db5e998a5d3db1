// SPDX-License-Identifier: Apache-2.0
//
// Model: takes a batch, returns fields to be merged into it. Names of
// parameters and buffers are those of the Python original, so that safetensors
// files travel both ways. Used from one thread. Built-in models adapt a
// torch::nn::Module (model/module_model.h); headers stay light.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/batch.h"

namespace epochd::engine {

class Hook;

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class Model {
 public:
  virtual ~Model() = default;

  virtual Batch Forward(const Batch& batch) = 0;
  // In registration order; handles to the live tensors.
  virtual std::vector<NamedTensor> Parameters() const = 0;
  virtual std::vector<NamedTensor> Buffers() const = 0;
  virtual void SetTraining(bool training) = 0;
  virtual void To(c10::Device device) = 0;
  // Parameters of these names stop to need a gradient, so optimizers leave
  // them out. Normalizations whose own parameters are all among them keep
  // their running statistics: they stay in evaluation mode.
  virtual void Freeze(const std::vector<std::string>& names);
  // Lets a model that is not ours be tried before a run starts on a batch of
  // one sample, which `sample` reads and puts on the model's device. Throws
  // Error(kBadSpec).
  virtual void CheckSample(const std::function<Batch()>& /*sample*/) {}
  // Lets a model take part in the loop (hook/hook.h): its hook runs after all
  // others at each point. Lives as long as the model; nullptr: it has none.
  virtual Hook* own_hook() { return nullptr; }
};

// A model that does its training step itself, in place of a forward pass, a
// criterion and a step of the runner's. What it has as a Model serves
// validation.
class SelfTraining {
 public:
  // What the runner does for it.
  class Stepper {
   public:
    virtual ~Stepper() = default;
    // Differentiates, and steps when a group of accumulated batches is full.
    virtual void Update(const at::Tensor& loss) = 0;
  };
  using Values = std::vector<std::pair<std::string, at::Tensor>>;

  virtual ~SelfTraining() = default;
  // Values to be logged, by name. Unless it called Update(), those with "loss"
  // in their name are averaged, added up and updated by.
  virtual Values TrainStep(Batch& batch, Stepper& stepper) = 0;
};

// A generator and a discriminator; what GanTrainingRunner needs. As a Model,
// Forward() generates: it returns the field `fake`.
class AdversarialModel : public Model {
 public:
  virtual Model& generator() = 0;
  virtual Model& discriminator() = 0;
  // Field that holds real samples; `input` by default.
  virtual const std::string& real_field() const = 0;
  // Scores [B, ...] (logits) of images [B, C, H, W].
  virtual at::Tensor Discriminate(const at::Tensor& images) = 0;
  // Draws what the generator needs beside the batch (latent noise, from the
  // default generator) and returns fakes [n, C, H, W].
  virtual at::Tensor Generate(const Batch& batch, int64_t n) = 0;
};

}  // namespace epochd::engine
