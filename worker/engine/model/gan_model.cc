// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/gan_model.h"

#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

void Append(const std::string& prefix, std::vector<NamedTensor> tensors,
            std::vector<NamedTensor>& all) {
  for (NamedTensor& named : tensors) {
    all.push_back({prefix + named.name, std::move(named.tensor)});
  }
}

}  // namespace

GanModel::GanModel(std::shared_ptr<Model> generator,
                   std::shared_ptr<Model> discriminator, Options options)
    : generator_(std::move(generator)),
      discriminator_(std::move(discriminator)),
      noise_fed_(dynamic_cast<const NoiseFed*>(generator_.get())),
      options_(std::move(options)) {}

Batch GanModel::Forward(const Batch& batch) {
  return {{"fake", Generate(batch, batch.Size())}};
}

std::vector<NamedTensor> GanModel::Parameters() const {
  std::vector<NamedTensor> all;
  Append("generator.", generator_->Parameters(), all);
  Append("discriminator.", discriminator_->Parameters(), all);
  return all;
}

std::vector<NamedTensor> GanModel::Buffers() const {
  std::vector<NamedTensor> all;
  Append("generator.", generator_->Buffers(), all);
  Append("discriminator.", discriminator_->Buffers(), all);
  return all;
}

void GanModel::SetTraining(bool training) {
  generator_->SetTraining(training);
  discriminator_->SetTraining(training);
}

void GanModel::To(c10::Device device) {
  generator_->To(device);
  discriminator_->To(device);
}

void GanModel::Freeze(const std::vector<std::string>& names) {
  const auto below = [&names](const std::string& prefix) {
    std::vector<std::string> found;
    for (const std::string& name : names) {
      if (name.starts_with(prefix)) found.push_back(name.substr(prefix.size()));
    }
    return found;
  };
  generator_->Freeze(below("generator."));
  discriminator_->Freeze(below("discriminator."));
}

void GanModel::CheckSample(const std::function<Batch()>& sample) {
  if (noise_fed_ == nullptr) generator_->CheckSample(sample);
  discriminator_->CheckSample([&] {
    return Batch{{options_.discriminator_input, sample().At(options_.real)}};
  });
}

at::Tensor GanModel::Discriminate(const at::Tensor& images) {
  return discriminator_->Forward({{options_.discriminator_input, images}})
      .At(options_.discriminator_output);
}

at::Tensor GanModel::Generate(const Batch& batch, int64_t n) {
  if (noise_fed_ != nullptr) {
    return generator_
        ->Forward({{noise_fed_->noise_field(), noise_fed_->DrawNoise(n)}})
        .At(options_.generator_output);
  }
  at::Tensor fakes = generator_->Forward(batch).At(options_.generator_output);
  if (fakes.dim() == 0 || fakes.size(0) != n) {
    throw Error(
        ErrorKind::kTraining,
        "generator: " + std::to_string(fakes.dim() == 0 ? 1 : fakes.size(0)) +
            " samples from the batch where " + std::to_string(n) +
            " are wanted; a generator without noise gives one for "
            "each of the batch");
  }
  return fakes;
}

}  // namespace epochd::engine
