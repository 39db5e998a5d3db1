// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/views.h"

#include <ATen/ATen.h>

#include <sstream>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/told_by.h"

namespace epochd::engine {
namespace {

Batch WithFloat32(Batch batch) {
  Batch changed;
  for (const auto& [name, value] : batch) {
    if (at::isFloatingType(value.scalar_type()) &&
        value.scalar_type() != at::kFloat) {
      changed.Set(name, value.to(at::kFloat));
    }
  }
  batch.Merge(std::move(changed));
  return batch;
}

// Calls `apply`; what it throws names the transform by its place.
template <class Apply>
auto Naming(size_t place, const Apply& apply) {
  const auto named = [place](const std::string& problem) {
    return "transforms[" + std::to_string(place) + "]: " + problem;
  };
  try {
    return apply();
  } catch (const Error& error) {
    throw Error(error.kind(), named(error.what()));
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kTraining, named(ToldBy(error)));
  }
}

}  // namespace

at::Tensor Dataset::Column(std::string_view field) const {
  static_cast<void>(field);
  return {};
}

std::vector<Batch> Dataset::GetSamples(std::span<const int64_t> indices,
                                       const SampleSeed& seed) const {
  std::vector<Batch> samples;
  samples.reserve(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    samples.push_back(Get(indices[i], seed.Of(i)));
  }
  return samples;
}

Batch Dataset::GetBatch(std::span<const int64_t> indices,
                        const SampleSeed& seed) const {
  return Stack(GetSamples(indices, seed), indices);
}

TensorDataset::TensorDataset(Batch columns) : columns_(std::move(columns)) {
  for (const auto& [name, column] : columns_) {
    if (column.dim() == 0 || column.size(0) != columns_.Size()) {
      std::ostringstream message;
      message << "data set column \"" << name << "\": has shape "
              << column.sizes() << "; its first dimension must be "
              << columns_.Size() << " as in the first column";
      throw Error(ErrorKind::kBadSpec, message.str());
    }
  }
}

Batch TensorDataset::Get(int64_t index, const SampleSeed& /*seed*/) const {
  return SampleOf(columns_, index);
}

Batch TensorDataset::GetBatch(std::span<const int64_t> indices,
                              const SampleSeed& /*seed*/) const {
  at::Tensor rows =
      at::empty({static_cast<int64_t>(indices.size())}, at::kLong);
  std::copy(indices.begin(), indices.end(), rows.mutable_data_ptr<int64_t>());
  Batch batch;
  for (const auto& [name, column] : columns_) {
    batch.Set(name, column.index_select(0, rows));
  }
  return batch;
}

at::Tensor TensorDataset::Column(std::string_view field) const {
  const at::Tensor* column = columns_.Find(field);
  return column == nullptr ? at::Tensor() : *column;
}

Batch Float32Dataset::Get(int64_t index, const SampleSeed& seed) const {
  return WithFloat32(base().Get(index, seed));
}

std::vector<Batch> Float32Dataset::GetSamples(std::span<const int64_t> indices,
                                              const SampleSeed& seed) const {
  std::vector<Batch> samples = base().GetSamples(indices, seed);
  for (Batch& sample : samples) sample = WithFloat32(std::move(sample));
  return samples;
}

Batch Float32Dataset::GetBatch(std::span<const int64_t> indices,
                               const SampleSeed& seed) const {
  if (!GathersBatches()) return Dataset::GetBatch(indices, seed);
  return WithFloat32(base().GetBatch(indices, seed));
}

void TransformedDataset::Apply(Batch& sample, int64_t index,
                               const SampleSeed& seed, size_t first) const {
  const size_t num_before = DatasetView::NumTransforms();
  for (size_t i = first; i < transforms_.size(); ++i) {
    // A stream of its own for each transform: adding one moves no other.
    Random random({static_cast<uint64_t>(Stream::kSample), seed.seed,
                   static_cast<uint64_t>(seed.epoch),
                   static_cast<uint64_t>(index), num_before + i});
    Naming(i, [&] { transforms_[i]->Apply(sample, random); });
  }
}

Batch TransformedDataset::Get(int64_t index, const SampleSeed& seed) const {
  Batch sample = base().Get(index, seed);
  Apply(sample, index, seed, 0);
  return sample;
}

std::vector<Batch> TransformedDataset::GetSamples(
    std::span<const int64_t> indices, const SampleSeed& seed) const {
  std::vector<Batch> samples = base().GetSamples(indices, seed);
  for (size_t i = 0; i < samples.size(); ++i) {
    Apply(samples[i], indices[i], seed.Of(i), 0);
  }
  return samples;
}

Batch TransformedDataset::GetBatch(std::span<const int64_t> indices,
                                   const SampleSeed& seed) const {
  // Samples that differ in shape may be made alike, so they are not stacked
  // before.
  if (!GathersBatches()) return Dataset::GetBatch(indices, seed);
  Batch batch = base().GetBatch(indices, seed);
  size_t done = 0;
  while (done < transforms_.size() &&
         Naming(done, [&] { return transforms_[done]->ApplyToBatch(batch); })) {
    ++done;
  }
  if (done == transforms_.size()) return batch;
  // The rest is random, so it goes sample by sample.
  std::vector<Batch> samples(indices.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = SampleOf(batch, static_cast<int64_t>(i));
    Apply(samples[i], indices[i], seed.Of(i), done);
  }
  return Stack(samples, indices);
}

}  // namespace epochd::engine
