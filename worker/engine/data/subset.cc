// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/subset.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/column.h"

namespace epochd::engine {
namespace {

at::Tensor ToTensor(const std::vector<int64_t>& values) {
  return at::tensor(at::ArrayRef<int64_t>(values), at::kLong);
}

}  // namespace

SubsetDataset::SubsetDataset(std::shared_ptr<const Dataset> base,
                             std::vector<int64_t> indices)
    : DatasetView(std::move(base)), indices_(std::move(indices)) {
  const int64_t size = DatasetView::Size();
  for (int64_t index : indices_) {
    if (index >= 0 && index < size) continue;
    throw Error(ErrorKind::kBadSpec,
                "subset: there is no sample " + std::to_string(index) +
                    "; the data set has " + std::to_string(size) +
                    ", counted from 0");
  }
}

Batch SubsetDataset::Get(int64_t index, const SampleSeed& seed) const {
  return base().Get(indices_[static_cast<size_t>(index)], seed);
}

std::vector<int64_t> SubsetDataset::Chosen(
    std::span<const int64_t> indices) const {
  std::vector<int64_t> chosen;
  chosen.reserve(indices.size());
  for (int64_t index : indices) {
    chosen.push_back(indices_[static_cast<size_t>(index)]);
  }
  return chosen;
}

std::vector<Batch> SubsetDataset::GetSamples(std::span<const int64_t> indices,
                                             const SampleSeed& seed) const {
  return base().GetSamples(Chosen(indices), seed);
}

Batch SubsetDataset::GetBatch(std::span<const int64_t> indices,
                              const SampleSeed& seed) const {
  if (!GathersBatches()) return Dataset::GetBatch(indices, seed);
  return base().GetBatch(Chosen(indices), seed);
}

at::Tensor SubsetDataset::Column(std::string_view field) const {
  const at::Tensor column = DatasetView::Column(field);
  if (!column.defined()) return column;
  return column.index_select(0, ToTensor(indices_));
}

ConcatDataset::ConcatDataset(std::vector<std::shared_ptr<const Dataset>> parts)
    : parts_(std::move(parts)) {
  if (parts_.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "concat: no data set is given; one or more are accepted");
  }
  int64_t size = 0;
  for (const auto& part : parts_) ends_.push_back(size += part->Size());
  ClassNumbers numbers;
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (const auto number = numbers.Add(*parts_[part])) {
      throw Error(ErrorKind::kBadSpec,
                  "concat: class " + std::to_string(*number) + " of datasets[" +
                      std::to_string(part) + "] " + kOtherClass);
    }
  }
}

size_t ConcatDataset::PartOf(int64_t index) const {
  return static_cast<size_t>(
      std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
}

Batch ConcatDataset::Get(int64_t index, const SampleSeed& seed) const {
  const size_t part = PartOf(index);
  return parts_[part]->Get(index - Begin(part), seed.OfPart(part));
}

std::vector<ConcatDataset::Share> ConcatDataset::SharesOf(
    std::span<const int64_t> indices, const SampleSeed& seed) const {
  std::vector<Share> shares(parts_.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    const size_t part = PartOf(indices[i]);
    shares[part].indices.push_back(indices[i] - Begin(part));
    if (!seed.repeats.empty()) {
      shares[part].repeats.push_back(seed.repeats[i]);
    }
    shares[part].places.push_back(static_cast<int64_t>(i));
  }
  return shares;
}

std::vector<Batch> ConcatDataset::GetSamples(std::span<const int64_t> indices,
                                             const SampleSeed& seed) const {
  const std::vector<Share> shares = SharesOf(indices, seed);
  std::vector<Batch> all(indices.size());
  for (size_t part = 0; part < parts_.size(); ++part) {
    const Share& share = shares[part];
    if (share.indices.empty()) continue;
    SampleSeed own = seed.OfPart(part);
    own.repeats = share.repeats;
    std::vector<Batch> samples = parts_[part]->GetSamples(share.indices, own);
    for (size_t i = 0; i < samples.size(); ++i) {
      all[static_cast<size_t>(share.places[i])] = std::move(samples[i]);
    }
  }
  return all;
}

bool ConcatDataset::GathersBatches() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part->GathersBatches(); });
}

Batch ConcatDataset::GetBatch(std::span<const int64_t> indices,
                              const SampleSeed& seed) const {
  if (!GathersBatches()) return Dataset::GetBatch(indices, seed);
  const std::vector<Share> shares = SharesOf(indices, seed);
  Batch whole;
  std::vector<Batch> batches;
  std::vector<int64_t> sources(indices.size());  // where each sample now is
  int64_t done = 0;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const Share& share = shares[part];
    if (share.indices.empty()) continue;
    SampleSeed own = seed.OfPart(part);
    own.repeats = share.repeats;
    batches.push_back(parts_[part]->GetBatch(share.indices, own));
    if (share.indices.size() == indices.size()) return batches.back();
    for (int64_t place : share.places) {
      sources[static_cast<size_t>(place)] = done++;
    }
  }
  const at::Tensor rows = ToTensor(sources);
  for (const auto& [name, first] : batches.front()) {
    std::vector<at::Tensor> pieces;
    for (const Batch& batch : batches) {
      pieces.push_back(batch.At(name));
      if (pieces.back().sizes().slice(1) != first.sizes().slice(1)) {
        throw Error(ErrorKind::kBadSpec,
                    "concat: samples of \"" + name + "\" are of shape " +
                        c10::str(first.sizes().slice(1)) +
                        " in one data set and " +
                        c10::str(pieces.back().sizes().slice(1)) +
                        " in another; those of a batch must agree");
      }
    }
    whole.Set(name, at::cat(pieces).index_select(0, rows));
  }
  return whole;
}

at::Tensor ConcatDataset::Column(std::string_view field) const {
  std::vector<at::Tensor> columns;
  for (const auto& part : parts_) {
    columns.push_back(part->Column(field));
    const at::Tensor& last = columns.back();
    if (!last.defined() || last.dim() == 0 ||
        last.scalar_type() != columns.front().scalar_type() ||
        last.sizes().slice(1) != columns.front().sizes().slice(1)) {
      return {};
    }
  }
  at::Tensor whole = at::cat(columns);
  std::vector<at::Tensor> names;
  for (const auto& part : parts_) {
    names.push_back(part->Column(NamesOf(field)));
    if (names.back().defined() != names.front().defined()) {
      throw Error(ErrorKind::kBadSpec,
                  "concat: \"" + std::string(field) +
                      "\" numbers names in some of the data sets and is plain "
                      "numbers in others, so which are the same is not known; "
                      "one kind is accepted");
    }
  }
  if (!names.front().defined()) return whole;
  // Each part numbered its names from 0.
  const at::Tensor name = at::cat(names);
  std::map<int64_t, int64_t> places;
  for (int64_t i = 0; i < whole.size(0); ++i) {
    const auto next = static_cast<int64_t>(places.size());
    whole.mutable_data_ptr<int64_t>()[i] =
        places.emplace(name.const_data_ptr<int64_t>()[i], next).first->second;
  }
  return whole;
}

std::vector<Error> ConcatDataset::Unreadable() const {
  std::vector<Error> all;
  for (const auto& part : parts_) {
    for (Error& each : part->Unreadable()) all.push_back(std::move(each));
  }
  return all;
}

size_t ConcatDataset::NumTransforms() const {
  size_t most = 0;
  for (const auto& part : parts_) {
    most = std::max(most, part->NumTransforms());
  }
  return most;
}

}  // namespace epochd::engine
