// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/postprocess.h"

#include <ATen/ATen.h>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// The fields of a batch that have a row for each sample, of one of them.
Batch RowsOf(const Batch& batch, int64_t size, int64_t index) {
  Batch sample;
  for (const auto& [name, value] : batch) {
    if (value.dim() > 0 && value.size(0) == size) {
      sample.Set(name, value[index]);
    }
  }
  return sample;
}

// What has no way of its own with whole batches.
void ApplyToSamples(const Transform& transform, Batch& batch) {
  const int64_t size = batch.Size();
  std::vector<Batch> changed;
  for (int64_t i = 0; i < size; ++i) {
    const Batch given = RowsOf(batch, size, i);
    Batch sample = given;
    Random random({0});
    const Random untouched = random;
    transform.Apply(sample, random);
    if (random != untouched) {
      throw Error(ErrorKind::kBadSpec,
                  "postprocessor: one works by chance; those that do the same "
                  "to each sample are accepted");
    }
    Batch own;
    for (const auto& [name, value] : sample) {
      const at::Tensor* before = given.Find(name);
      if (before == nullptr || !before->is_same(value)) own.Set(name, value);
    }
    changed.push_back(std::move(own));
  }
  if (!changed.empty()) batch.Merge(Stack(changed));
}

}  // namespace

void Postprocess(const Postprocessors& postprocessors, Batch& batch) {
  for (const auto& each : postprocessors) {
    if (!each->ApplyToBatch(batch)) ApplyToSamples(*each, batch);
  }
}

}  // namespace epochd::engine
