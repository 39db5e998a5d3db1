// SPDX-License-Identifier: Apache-2.0
//
// Dataset: size + get. Transforms, subsets and splits are views over data
// sets. Thread-safe: loader threads call it at once. What a sample looks like
// depends on (seed, epoch, index) alone: random views draw from the
// SampleSeed handed in and from nothing else.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker/engine/core/batch.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/seed.h"

namespace epochd::engine {

// Identifies the random streams of samples in one epoch.
struct SampleSeed {
  uint64_t seed = 0;  // the experiment's
  int64_t epoch = 0;  // from 0
  // How often each sample of GetBatch() came before in this epoch, as samplers
  // repeat some; empty: never.
  std::span<const int64_t> repeats = {};

  // That of GetBatch()'s sample at `place`, for Get(): the repeats of a sample
  // have streams of their own.
  SampleSeed Of(size_t place) const {
    const int64_t times = repeats.empty() ? 0 : repeats[place];
    if (times == 0) return {seed, epoch};
    return {HashSeed({seed, 1, static_cast<uint64_t>(times)}), epoch};
  }
  // For the part `part` of a data set that consists of several, whose samples
  // have the same indices.
  SampleSeed OfPart(size_t part) const {
    if (part == 0) return *this;
    return {HashSeed({seed, 2, part}), epoch, repeats};
  }
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t Size() const = 0;
  // The sample without batch dimension. `index` in [0, Size()).
  virtual Batch Get(int64_t index, const SampleSeed& seed) const = 0;
  // The samples of a batch, which may differ in shape.
  virtual std::vector<Batch> GetSamples(std::span<const int64_t> indices,
                                        const SampleSeed& seed) const;
  // The same stacked. Overridden where a batch can be gathered at once.
  virtual Batch GetBatch(std::span<const int64_t> indices,
                         const SampleSeed& seed) const;
  // Whether it gathers batches at once. If so, all samples are alike in shape,
  // and views change whole batches; else they change samples, then stack them.
  virtual bool GathersBatches() const { return false; }
  // All samples' values of `field`, [Size(), ...], where they are known without
  // reading samples, as labels, groups and lengths are; what splits and
  // samplers look at. Before transforms. Undefined: not known.
  virtual at::Tensor Column(std::string_view field) const;
  // Where the sample is from, such as a path, for lists that people and
  // programs read; empty: it has no name.
  virtual std::string SampleName(int64_t /*index*/) const { return {}; }
  // What of it could not be opened when it was made and is left out, such as a
  // recording with a broken header: where and why. The loader makes an error of
  // it unless samples may be skipped; views say what they look at says.
  virtual std::vector<Error> Unreadable() const { return {}; }
  // Random transforms that samples have gone through; views of a data set that
  // has them say as many, and further ones number their streams from there.
  virtual size_t NumTransforms() const { return 0; }
};

// What BatchSource::NumBatches() says of an epoch whose end only shows when it
// comes, and of one that never ends.
inline constexpr int64_t kUnknownLength = -1;
inline constexpr int64_t kEndless = -2;

// Samples that could not be read and were left out, in an epoch of a rank.
struct Skipped {
  bool is_allowed = false;  // else the first one is an error
  int64_t samples = 0;
  // Of them, those since the data last began from the front: in endless data
  // each round has its own allowance.
  int64_t of_round = 0;
  std::vector<std::string> problems = {};  // the first few
};

// Iterates a data set in batches, epoch by epoch; data/loader.h implements it.
// Used from one thread.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // Begins epoch `epoch` (from 0) at batch `first_batch`; what was begun is
  // dropped.
  virtual void StartEpoch(int64_t epoch, int64_t first_batch) = 0;
  // False: the epoch is over. Throws Error naming file and index.
  virtual bool Next(Batch& batch) = 0;
  // Batches of this rank in an epoch, or one of the constants above.
  virtual int64_t NumBatches() const = 0;
  // Samples of an epoch, over all ranks: those of the data set, each once,
  // unless a sampler says otherwise.
  virtual int64_t NumSamples() const = 0;
  virtual int64_t BatchSize() const = 0;
  // Places in the data set of the samples of the batch that Next() gave last;
  // empty: not known.
  virtual std::vector<int64_t> Indices() const { return {}; }
  // What it iterates; nullptr: no data set.
  virtual const Dataset* dataset() const { return nullptr; }
  // Since StartEpoch(), and before it as ContinueSkipped() says.
  virtual Skipped skipped() const { return {}; }
  // Counts on from there: what the batches before the first one of StartEpoch()
  // left out, in an earlier attempt of the run.
  virtual void ContinueSkipped(const Skipped& /*before*/) {}
};

}  // namespace epochd::engine
