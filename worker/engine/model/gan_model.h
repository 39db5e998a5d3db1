// SPDX-License-Identifier: Apache-2.0
//
// GanModel: any two models as generator and discriminator. Names are those of
// the two, behind `generator.` and `discriminator.`.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/model/noise.h"

namespace epochd::engine {

class GanModel : public AdversarialModel {
 public:
  struct Options {
    // Field of the data set that holds real samples.
    std::string real = "input";
    // Field of the generator's result that holds fakes.
    std::string generator_output = "output";
    std::string discriminator_input = "input";
    std::string discriminator_output = "output";
  };

  GanModel(std::shared_ptr<Model> generator,
           std::shared_ptr<Model> discriminator, Options options);

  // A batch with the one field `fake`, a sample for each of `batch`.
  Batch Forward(const Batch& batch) override;
  std::vector<NamedTensor> Parameters() const override;
  std::vector<NamedTensor> Buffers() const override;
  void SetTraining(bool training) override;
  void To(c10::Device device) override;
  void Freeze(const std::vector<std::string>& names) override;
  void CheckSample(const std::function<Batch()>& sample) override;

  Model& generator() override { return *generator_; }
  Model& discriminator() override { return *discriminator_; }
  const std::string& real_field() const override { return options_.real; }
  at::Tensor Discriminate(const at::Tensor& images) override;
  // A generator that is not NoiseFed reads `batch`, which must then have `n`
  // samples; throws Error(kTraining) otherwise.
  at::Tensor Generate(const Batch& batch, int64_t n) override;

 private:
  const std::shared_ptr<Model> generator_;
  const std::shared_ptr<Model> discriminator_;
  const NoiseFed* const noise_fed_;  // the generator, or nullptr
  const Options options_;
};

}  // namespace epochd::engine
