// SPDX-License-Identifier: Apache-2.0
//
// Views that choose and join samples: some of a data set's, and all of several
// data sets'. Immutable and thread-safe; what they look at is shared. A sample
// keeps the random stream of its place in the data set that it comes from,
// whatever part of it is looked at.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "worker/engine/data/views.h"

namespace epochd::engine {

// The samples at `indices`, in that order.
class SubsetDataset : public DatasetView {
 public:
  // Throws Error(kBadSpec) naming the index that `base` does not have.
  SubsetDataset(std::shared_ptr<const Dataset> base,
                std::vector<int64_t> indices);
  int64_t Size() const override {
    return static_cast<int64_t>(indices_.size());
  }
  Batch Get(int64_t index, const SampleSeed& seed) const override;
  std::vector<Batch> GetSamples(std::span<const int64_t> indices,
                                const SampleSeed& seed) const override;
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override;
  at::Tensor Column(std::string_view field) const override;
  std::string SampleName(int64_t index) const override {
    return base().SampleName(indices_[static_cast<size_t>(index)]);
  }

 private:
  std::vector<int64_t> Chosen(std::span<const int64_t> indices) const;

  std::vector<int64_t> indices_;
};

// Those of each data set, one after the other. All must have the same fields.
class ConcatDataset : public Dataset {
 public:
  // Throws Error(kBadSpec) when there is none, or where the classes of image
  // folders have other numbers in one than in another.
  explicit ConcatDataset(std::vector<std::shared_ptr<const Dataset>> parts);
  int64_t Size() const override { return ends_.back(); }
  Batch Get(int64_t index, const SampleSeed& seed) const override;
  std::vector<Batch> GetSamples(std::span<const int64_t> indices,
                                const SampleSeed& seed) const override;
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override;
  // When all parts do.
  bool GathersBatches() const override;
  // Known when all parts know it, with values of the same shape and type.
  // Numbers that stand for names (NamesOf() in data/column.h) are given anew,
  // by first appearance over all parts. Throws Error(kBadSpec) where only some
  // do.
  at::Tensor Column(std::string_view field) const override;
  std::string SampleName(int64_t index) const override {
    const size_t part = PartOf(index);
    return parts_[part]->SampleName(index - Begin(part));
  }
  std::vector<Error> Unreadable() const override;
  size_t NumTransforms() const override;

 private:
  // What of a batch comes from one part.
  struct Share {
    std::vector<int64_t> indices;
    std::vector<int64_t> repeats;
    std::vector<int64_t> places;  // in the whole batch
  };
  std::vector<Share> SharesOf(std::span<const int64_t> indices,
                              const SampleSeed& seed) const;
  size_t PartOf(int64_t index) const;
  int64_t Begin(size_t part) const { return part == 0 ? 0 : ends_[part - 1]; }

  std::vector<std::shared_ptr<const Dataset>> parts_;
  std::vector<int64_t> ends_;  // index after the last of each part
};

}  // namespace epochd::engine
