// SPDX-License-Identifier: Apache-2.0
//
// Sampler: which samples of a data set an epoch has, and in which order. Bound
// to a data set it gives an Ordering, whose orders depend on (seed, epoch)
// alone and are of the samples of all ranks: the loader shares them out, so
// they are the same for any number of ranks as long as a step has as many
// samples. Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

struct EpochKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  // Draws as torch does with a CPU generator of this seed + epoch.
  std::optional<uint64_t> torch_seed = {};
};

class Ordering {
 public:
  virtual ~Ordering() = default;

  // Of an epoch, over all ranks; repeats count.
  virtual int64_t NumSamples() const = 0;
  // Their indices.
  virtual std::vector<int64_t> Order(const EpochKey& key) const = 0;
  // Whether a sample may come several times in an epoch.
  virtual bool repeats() const { return false; }
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  // `step_size`: samples that all ranks together take at once. Throws
  // Error(kBadSpec) for a data set that it cannot order.
  virtual std::unique_ptr<const Ordering> Bind(const Dataset& dataset,
                                               int64_t step_size) const = 0;
  // Epochs are to go on without end.
  virtual bool is_endless() const { return false; }
};

// Each sample once, in the order of the data set, or shuffled: a permutation
// of our own, or the one that DistributedSampler and MMEngine's DefaultSampler
// make: randperm of torch's generator.
std::vector<int64_t> PlainOrder(int64_t size, bool shuffle,
                                const EpochKey& key);

}  // namespace epochd::engine
