// SPDX-License-Identifier: Apache-2.0
//
// Batch: ordered names to tensors. One type serves a sample (no leading batch
// dimension), a batch ([B, ...] each), and a model's output, which is merged
// into the batch that it came from. A value type; copying copies handles, not
// data. Few entries, so look-up is linear.
//
// Usual names: `input`, `target` from data sets, `output` from models; `fake`,
// `score_real`, `score_fake` in GAN training.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace epochd::engine {

class Batch {
 public:
  using Entry = std::pair<std::string, at::Tensor>;

  Batch() = default;
  Batch(std::initializer_list<Entry> entries) : entries_(entries) {}

  // Throws Error(kBadSpec) naming the field and those that exist.
  const at::Tensor& At(std::string_view name) const;
  // nullptr: there is none.
  const at::Tensor* Find(std::string_view name) const;
  // Adds, or replaces in its place.
  void Set(std::string_view name, at::Tensor value);
  bool Erase(std::string_view name);
  // Sets every field of `other` here.
  void Merge(Batch other);

  // Leading dimension of the first field; 0 when empty.
  int64_t Size() const;
  bool empty() const { return entries_.empty(); }
  // A batch with every tensor on `device` (itself when it is there already).
  // `non_blocking`: from pinned memory the copy goes on while this returns.
  Batch To(c10::Device device, bool non_blocking = true) const;
  // The same, in place.
  void MoveTo(c10::Device device, bool non_blocking = true);

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

// Stacks samples of the same fields along a new first dimension. Throws
// Error(kBadSpec) naming field and sample where shapes differ: by its place in
// the data set, where `indices` tell that, else by its place among `samples`.
Batch Stack(const std::vector<Batch>& samples,
            std::span<const int64_t> indices = {});

// The sample at `index` of a batch.
Batch SampleOf(const Batch& batch, int64_t index);

}  // namespace epochd::engine
