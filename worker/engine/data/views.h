// SPDX-License-Identifier: Apache-2.0
//
// Data sets over tensors, and views over data sets. All immutable once built
// and thread-safe. Shared pointers: several views may look at one data set
// (train and validation parts of one file), and `${ref:}` binds it by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/transform.h"

namespace epochd::engine {

// Row i of every column; columns are [N, ...] with one N.
class TensorDataset : public Dataset {
 public:
  // Throws Error(kBadSpec) naming the columns whose N differ.
  explicit TensorDataset(Batch columns);
  int64_t Size() const override { return columns_.Size(); }
  Batch Get(int64_t index, const SampleSeed& seed) const override;
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override;
  bool GathersBatches() const override { return true; }
  at::Tensor Column(std::string_view field) const override;

 private:
  Batch columns_;
};

// Looks at one data set: says of it what that says, unless told otherwise.
class DatasetView : public Dataset {
 public:
  explicit DatasetView(std::shared_ptr<const Dataset> base)
      : base_(std::move(base)) {}
  int64_t Size() const override { return base_->Size(); }
  at::Tensor Column(std::string_view field) const override {
    return base_->Column(field);
  }
  std::string SampleName(int64_t index) const override {
    return base_->SampleName(index);
  }
  std::vector<Error> Unreadable() const override { return base_->Unreadable(); }
  size_t NumTransforms() const override { return base_->NumTransforms(); }
  bool GathersBatches() const override { return base_->GathersBatches(); }

 protected:
  const Dataset& base() const { return *base_; }

 private:
  std::shared_ptr<const Dataset> base_;
};

// Gives floating numbers of every width as float32, which is what models hold
// and losses compute in; whole numbers stay. Columns, for splits and samplers,
// are as they were.
class Float32Dataset : public DatasetView {
 public:
  using DatasetView::DatasetView;
  Batch Get(int64_t index, const SampleSeed& seed) const override;
  std::vector<Batch> GetSamples(std::span<const int64_t> indices,
                                const SampleSeed& seed) const override;
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override;
};

// Applies transforms, in order, to another data set's samples. Errors name the
// transform by its place, `transforms[1]`.
class TransformedDataset : public DatasetView {
 public:
  TransformedDataset(std::shared_ptr<const Dataset> base,
                     std::vector<std::shared_ptr<Transform>> transforms)
      : DatasetView(std::move(base)), transforms_(std::move(transforms)) {}
  Batch Get(int64_t index, const SampleSeed& seed) const override;
  std::vector<Batch> GetSamples(std::span<const int64_t> indices,
                                const SampleSeed& seed) const override;
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override;
  size_t NumTransforms() const override {
    return DatasetView::NumTransforms() + transforms_.size();
  }

 private:
  void Apply(Batch& sample, int64_t index, const SampleSeed& seed,
             size_t first) const;

  std::vector<std::shared_ptr<Transform>> transforms_;
};

}  // namespace epochd::engine
