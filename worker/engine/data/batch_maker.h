// SPDX-License-Identifier: Apache-2.0
//
// BatchMaker: from indices to a batch: reads, collates, deals with samples that
// cannot be read. What it makes depends on indices and seed alone. Immutable
// and thread-safe: the loader's threads share one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

struct CollateOptions {
  // Fields whose samples differ in their last `dims` dimensions (their length,
  // or height and width) are padded at the ends of those, up to the longest.
  // Those laid out as `pad_field`, of its sizes or a whole multiple of them in
  // every sample, are padded with it, to the same multiple of its padded sizes.
  bool pad = false;
  int64_t dims = 1;
  // What `pad_field` and floating numbers are padded with, and what labels:
  // other whole numbers.
  double pad_value = 0;
  int64_t pad_label = -100;
  // Lengths are rounded up to a multiple.
  int64_t multiple = 1;
  // Field [B, L], or [B, 1, H, W], true where `pad_field` is real.
  std::string mask = "mask";
  std::string pad_field = "input";
};

struct ReadPolicy {
  // A sample that cannot be read is left out instead of an error.
  bool skip = false;
  // The next sample that can be read stands in for it, so that batches keep
  // their size and ranks stay in step: in training.
  bool replace = false;
};

class BatchMaker {
 public:
  BatchMaker(std::shared_ptr<const Dataset> dataset, CollateOptions collate,
             ReadPolicy policy, bool pin_memory)
      : dataset_(std::move(dataset)),
        collate_(std::move(collate)),
        policy_(policy),
        pin_memory_(pin_memory) {}

  struct Made {
    Batch batch;  // empty: none of its samples could be read
    // Places of its samples, when others than asked for.
    std::vector<int64_t> indices;
    // Of samples that were left out: where and why.
    std::vector<std::string> problems;
    int64_t bytes = 0;
  };
  // Throws Error naming the sample that cannot be read.
  Made Make(std::span<const int64_t> indices, const SampleSeed& seed) const;

 private:
  Batch Read(std::span<const int64_t> indices, const SampleSeed& seed) const;
  void ReadOneByOne(std::span<const int64_t> indices, const SampleSeed& seed,
                    Made& made) const;
  // `indices`: of the samples, by which errors name them.
  Batch Collate(const std::vector<Batch>& samples,
                std::span<const int64_t> indices) const;
  // Throws the error of the first sample that cannot be read, with its index;
  // returns when each can.
  void Blame(std::span<const int64_t> indices, const SampleSeed& seed) const;

  const std::shared_ptr<const Dataset> dataset_;
  const CollateOptions collate_;
  const ReadPolicy policy_;
  const bool pin_memory_;
};

}  // namespace epochd::engine
