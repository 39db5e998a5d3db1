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
  at::Tensor Column(std::string_view field) const override;

 private:
  Batch columns_;
};

// Gives floating numbers of every width as float32, which is what models hold
// and losses compute in; whole numbers stay. Columns, for splits and samplers,
// are as they were.
class Float32Dataset : public Dataset {
 public:
  explicit Float32Dataset(std::shared_ptr<const Dataset> base)
      : base_(std::move(base)) {}
  int64_t Size() const override { return base_->Size(); }
  Batch Get(int64_t index, const SampleSeed& seed) const override;
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override;
  at::Tensor Column(std::string_view field) const override {
    return base_->Column(field);
  }
  std::vector<Error> Unreadable() const override { return base_->Unreadable(); }
  size_t NumTransforms() const override { return base_->NumTransforms(); }

 private:
  std::shared_ptr<const Dataset> base_;
};

// Applies transforms, in order, to another data set's samples.
class TransformedDataset : public Dataset {
 public:
  TransformedDataset(std::shared_ptr<const Dataset> base,
                     std::vector<std::shared_ptr<Transform>> transforms)
      : base_(std::move(base)),
        transforms_(std::move(transforms)),
        num_before_(base_->NumTransforms()) {}
  int64_t Size() const override { return base_->Size(); }
  Batch Get(int64_t index, const SampleSeed& seed) const override;
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override;
  at::Tensor Column(std::string_view field) const override {
    return base_->Column(field);
  }
  std::vector<Error> Unreadable() const override { return base_->Unreadable(); }
  size_t NumTransforms() const override {
    return num_before_ + transforms_.size();
  }

 private:
  void Apply(Batch& sample, int64_t index, const SampleSeed& seed,
             size_t first) const;

  std::shared_ptr<const Dataset> base_;
  std::vector<std::shared_ptr<Transform>> transforms_;
  size_t num_before_;
};

}  // namespace epochd::engine
