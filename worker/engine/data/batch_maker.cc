// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/batch_maker.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/told_by.h"

namespace epochd::engine {
namespace {

// How many neighbours of an unreadable sample are tried.
constexpr int kMaxStandIns = 64;

std::string Named(int64_t index, const std::string& problem) {
  return "data: sample " + std::to_string(index) + ": " + problem;
}

// Calls `read`; gives what it threw: an Error, or what LibTorch or the standard
// library throws, such as for memory that is not there.
template <class Read>
std::optional<Error> Attempt(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorKind::kTraining, ToldBy(error));
  }
  return std::nullopt;
}

// The same for one sample, which is named.
template <class Read>
std::optional<Error> AttemptOne(int64_t index, const Read& read) {
  const auto problem = Attempt(read);
  if (!problem) return std::nullopt;
  return Error(problem->kind(), Named(index, problem->what()));
}

int64_t LengthOf(const at::Tensor& tensor) {
  return tensor.dim() == 0 ? 0 : tensor.size(-1);
}

}  // namespace

Batch BatchMaker::Collate(const std::vector<Batch>& samples) const {
  if (!collate_.pad || samples.empty()) return Stack(samples);
  const auto size = static_cast<int64_t>(samples.size());
  Batch batch;
  for (const auto& [name, first] : samples.front()) {
    const bool is_masked = name == collate_.pad_field;
    int64_t longest = 0;
    bool differs = false;
    for (const Batch& sample : samples) {
      const int64_t length = LengthOf(sample.At(name));
      differs |= length != LengthOf(first);
      longest = std::max(longest, length);
    }
    if (first.dim() == 0 || (!differs && !is_masked)) {
      std::vector<at::Tensor> column;
      for (const Batch& sample : samples) column.push_back(sample.At(name));
      batch.Set(name, at::stack(column));
      continue;
    }
    longest = (longest + collate_.multiple - 1) / collate_.multiple *
              collate_.multiple;
    std::vector<int64_t> shape = first.sizes().vec();
    shape.back() = longest;
    shape.insert(shape.begin(), size);
    const at::ScalarType type = first.scalar_type();
    // Whole numbers beside the input are labels.
    const bool is_label = !is_masked && type != at::kByte &&
                          at::isIntegralType(type, /*includeBool=*/false);
    const at::Tensor padded = at::full(
        shape,
        is_label ? at::Scalar(collate_.pad_label)
                 : at::Scalar(type == at::kBool ? 0 : collate_.pad_value),
        first.options());
    at::Tensor mask =
        is_masked ? at::zeros({size, longest}, at::kBool) : at::Tensor();
    for (int64_t i = 0; i < size; ++i) {
      const at::Tensor& sample = samples[static_cast<size_t>(i)].At(name);
      if (sample.dim() != first.dim() ||
          sample.sizes().slice(0, sample.dim() - 1) !=
              first.sizes().slice(0, first.dim() - 1)) {
        throw Error(ErrorKind::kBadSpec,
                    "batch field \"" + name + "\": sample " +
                        std::to_string(i) + " has shape " +
                        c10::str(sample.sizes()) + ", the first " +
                        c10::str(first.sizes()) +
                        "; with pad_batches they may differ in the last "
                        "dimension alone");
      }
      const int64_t length = sample.size(-1);
      padded[i].narrow(-1, 0, length).copy_(sample);
      if (is_masked) mask[i].narrow(0, 0, length).fill_(true);
    }
    batch.Set(name, padded);
    if (is_masked) batch.Set(collate_.mask, mask);
  }
  return batch;
}

Batch BatchMaker::Read(std::span<const int64_t> indices,
                       const SampleSeed& seed) const {
  if (!collate_.pad) return dataset_->GetBatch(indices, seed);
  std::vector<Batch> samples;
  samples.reserve(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    samples.push_back(dataset_->Get(indices[i], seed.Of(i)));
  }
  return Collate(samples);
}

void BatchMaker::Blame(std::span<const int64_t> indices,
                       const SampleSeed& seed) const {
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto problem =
        AttemptOne(indices[i], [&] { dataset_->Get(indices[i], seed.Of(i)); });
    if (problem) throw *problem;
  }
}

void BatchMaker::ReadOneByOne(std::span<const int64_t> indices,
                              const SampleSeed& seed, Made& made) const {
  std::vector<Batch> samples;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int tries = policy_.replace ? kMaxStandIns : 1;
    std::optional<Error> first_problem;
    bool found = false;
    for (int attempt = 0; attempt < tries && !found; ++attempt) {
      const int64_t index = (indices[i] + attempt) % dataset_->Size();
      const auto problem = AttemptOne(index, [&] {
        samples.push_back(dataset_->Get(index, seed.Of(i)));
        made.indices.push_back(index);
        found = true;
      });
      if (problem && !first_problem) first_problem = problem;
    }
    if (first_problem) made.problems.emplace_back(first_problem->what());
    if (found || !policy_.replace) continue;
    throw Error(first_problem->kind(),
                std::string(first_problem->what()) + "; nor can the " +
                    std::to_string(kMaxStandIns - 1) +
                    " after it be read, so none can stand in for it");
  }
  if (!samples.empty()) made.batch = Collate(samples);
}

BatchMaker::Made BatchMaker::Make(std::span<const int64_t> indices,
                                  const SampleSeed& seed) const {
  Made made;
  const auto problem = Attempt([&] { made.batch = Read(indices, seed); });
  if (problem && !policy_.skip) {
    Blame(indices, seed);
    // Each can be read, together they cannot.
    throw Error(problem->kind(), "data: a batch of " +
                                     std::to_string(indices.size()) +
                                     " samples: " + problem->what());
  }
  if (problem) ReadOneByOne(indices, seed, made);
  Batch pinned;
  for (const auto& [name, value] : made.batch) {
    made.bytes += static_cast<int64_t>(value.nbytes());
    if (pin_memory_) pinned.Set(name, value.pin_memory());
  }
  if (pin_memory_) made.batch = std::move(pinned);
  return made;
}

}  // namespace epochd::engine
