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

// The last dimensions, which padding is about.
at::IntArrayRef Lengths(const at::Tensor& tensor, int64_t dims) {
  const int64_t first = std::max<int64_t>(tensor.dim() - dims, 0);
  return tensor.sizes().slice(static_cast<size_t>(first));
}

// The part of `padded` that `sample` fills.
at::Tensor Filled(at::Tensor padded, const at::Tensor& sample, int64_t dims) {
  for (int64_t dim = -dims; dim < 0; ++dim) {
    padded = padded.narrow(dim, 0, sample.size(dim));
  }
  return padded;
}

// How often `field` has the last sizes of `like`, in all of them and in every
// sample; 0: it has not. Where its sizes do not differ from sample to sample, a
// vector may be a multiple of a signal's length by accident.
int64_t FactorOf(const std::vector<Batch>& samples, const std::string& field,
                 const std::string& like, int64_t dims, bool differs) {
  int64_t factor = 0;
  for (const Batch& sample : samples) {
    const at::Tensor& value = sample.At(field);
    const at::Tensor& model = sample.At(like);
    if (value.dim() < dims || model.dim() < dims) return 0;
    for (int64_t dim = -dims; dim < 0; ++dim) {
      if (factor == 0 && model.size(dim) > 0) {
        factor = value.size(dim) / model.size(dim);
      }
      if (factor == 0 || value.size(dim) != factor * model.size(dim)) return 0;
    }
  }
  return dims == 1 && !differs && factor > 1 ? 0 : factor;
}

std::vector<int64_t> Longest(const std::vector<Batch>& samples,
                             const std::string& field, int64_t dims) {
  std::vector<int64_t> longest;
  for (const Batch& sample : samples) {
    const at::IntArrayRef lengths = Lengths(sample.At(field), dims);
    longest.resize(std::max(longest.size(), lengths.size()));
    for (size_t i = 0; i < lengths.size(); ++i) {
      longest[i] = std::max(longest[i], lengths[i]);
    }
  }
  return longest;
}

}  // namespace

Batch BatchMaker::Collate(const std::vector<Batch>& samples,
                          std::span<const int64_t> indices) const {
  if (!collate_.pad || samples.empty()) return Stack(samples, indices);
  const auto size = static_cast<int64_t>(samples.size());
  Batch batch;
  for (const auto& [name, first] : samples.front()) {
    const bool is_masked = name == collate_.pad_field;
    const int64_t dims = std::min(collate_.dims, first.dim());
    if (is_masked && first.dim() > 0 && dims < collate_.dims) {
      throw Error(ErrorKind::kBadSpec,
                  "batch field \"" + name + "\": has shape " +
                      c10::str(first.sizes()) + "; " +
                      std::to_string(collate_.dims) +
                      " dimensions at least, which pad_batches pads, are "
                      "needed");
    }
    bool differs = false;
    for (const Batch& sample : samples) {
      differs |= Lengths(sample.At(name), dims) != Lengths(first, dims);
    }
    const int64_t factor = is_masked
                               ? 1
                               : FactorOf(samples, name, collate_.pad_field,
                                          collate_.dims, differs);
    if (first.dim() == 0 || (!differs && factor == 0)) {
      std::vector<at::Tensor> column;
      for (const Batch& sample : samples) column.push_back(sample.At(name));
      batch.Set(name, at::stack(column));
      continue;
    }
    std::vector<int64_t> longest =
        Longest(samples, factor > 0 ? collate_.pad_field : name, dims);
    for (int64_t& length : longest) {
      length = (length + collate_.multiple - 1) / collate_.multiple *
               collate_.multiple * std::max<int64_t>(factor, 1);
    }
    const at::IntArrayRef kept =
        first.sizes().slice(0, static_cast<size_t>(first.dim() - dims));
    std::vector<int64_t> shape = {size};
    shape.insert(shape.end(), kept.begin(), kept.end());
    shape.insert(shape.end(), longest.begin(), longest.end());
    const at::ScalarType type = first.scalar_type();
    // Whole numbers beside the input are labels.
    const bool is_label = !is_masked && type != at::kByte &&
                          at::isIntegralType(type, /*includeBool=*/false);
    const at::Tensor padded = at::full(
        shape,
        is_label ? at::Scalar(collate_.pad_label)
                 : at::Scalar(type == at::kBool ? 0 : collate_.pad_value),
        first.options());
    std::vector<int64_t> mask_shape = {size};
    if (dims > 1) mask_shape.push_back(1);
    mask_shape.insert(mask_shape.end(), longest.begin(), longest.end());
    at::Tensor mask =
        is_masked ? at::zeros(mask_shape, at::kBool) : at::Tensor();
    for (int64_t i = 0; i < size; ++i) {
      const at::Tensor& sample = samples[static_cast<size_t>(i)].At(name);
      if (sample.dim() != first.dim() ||
          sample.sizes().slice(0, kept.size()) != kept) {
        throw Error(ErrorKind::kBadSpec,
                    "batch field \"" + name + "\": sample " +
                        std::to_string(indices[static_cast<size_t>(i)]) +
                        " has shape " + c10::str(sample.sizes()) + ", sample " +
                        std::to_string(indices[0]) + " " +
                        c10::str(first.sizes()) +
                        "; with pad_batches they may differ in the last " +
                        (dims == 1 ? std::string("dimension")
                                   : std::to_string(dims) + " dimensions") +
                        " alone");
      }
      Filled(padded[i], sample, dims).copy_(sample);
      if (is_masked) Filled(mask[i], sample, dims).fill_(true);
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
  return Collate(samples, indices);
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
  if (!samples.empty()) made.batch = Collate(samples, made.indices);
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
