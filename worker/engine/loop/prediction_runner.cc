// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/prediction_runner.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "worker/engine/core/error.h"
#include "worker/engine/loop/explain.h"

namespace epochd::engine {
namespace {

// Per field, the pieces in order.
using Pieces = std::vector<std::pair<std::string, std::vector<at::Tensor>>>;

bool Joins(const at::Tensor& one, const at::Tensor& other) {
  return one.dim() == other.dim() &&
         (one.dim() == 0 || one.sizes().slice(1) == other.sizes().slice(1));
}

void AddPiece(Pieces& pieces, const Batch& outputs) {
  for (const auto& [name, tensor] : outputs) {
    auto found = std::find_if(
        pieces.begin(), pieces.end(),
        [&name = name](const auto& each) { return each.first == name; });
    if (found == pieces.end()) {
      found = pieces.insert(pieces.end(), {name, {}});
    }
    std::vector<at::Tensor>& all = found->second;
    if (!all.empty() && !Joins(all.front(), tensor)) {
      throw Error(ErrorKind::kBadSpec,
                  "prediction: \"" + name + "\" is of shape " +
                      c10::str(all.front().sizes()) + " in one batch and " +
                      c10::str(tensor.sizes()) +
                      " in another, which cannot be joined; {type: "
                      "PredictionRunner, join: false} with hooks that take "
                      "each, such as PredictionWriter with format: png, is "
                      "accepted");
    }
    all.push_back(tensor.to(at::kCPU));
  }
}

Batch Join(const Pieces& pieces) {
  Batch joined;
  for (const auto& [name, tensors] : pieces) {
    // Scalars stand for one sample each.
    joined.Set(name, tensors.front().dim() == 0 ? at::stack(tensors)
                                                : at::cat(tensors));
  }
  return joined;
}

}  // namespace

Batch PredictionRunner::Select(const Batch& batch, const Batch& returned,
                               std::vector<int64_t>& indices) const {
  Batch selected;
  if (options_.fields.empty()) {
    for (const auto& [name, ignored] : returned) {
      selected.Set(name, batch.At(name));
    }
  } else {
    for (const std::string& field : options_.fields) {
      selected.Set(field, batch.At(field));
    }
  }
  const at::Tensor* mask = batch.Find(options_.mask);
  // One of more dimensions marks parts of samples.
  if (mask == nullptr || mask->dim() > 1) return selected;
  if (mask->dim() != 1 || mask->size(0) != batch.Size()) {
    throw Error(ErrorKind::kTraining,
                "prediction: the mask \"" + options_.mask + "\" is of shape " +
                    c10::str(mask->sizes()) + "; one value for each of the " +
                    std::to_string(batch.Size()) + " samples is accepted");
  }
  const at::Tensor kept = mask->to(at::kBool).nonzero().squeeze(1);
  Batch real;
  for (const auto& [name, tensor] : selected) {
    real.Set(name, tensor.dim() == 0 ? tensor : tensor.index_select(0, kept));
  }
  std::vector<int64_t> real_indices;
  const at::Tensor places = kept.to(at::kCPU);
  for (int64_t i = 0; i < places.numel(); ++i) {
    const auto place = static_cast<size_t>(places[i].item<int64_t>());
    if (place < indices.size()) real_indices.push_back(indices[place]);
  }
  indices = std::move(real_indices);
  return real;
}

PredictionRunner::Result PredictionRunner::RunEpoch(
    EpochRun& run, const std::function<void(Result&)>& merge) {
  PredictionContext context;
  context.phase = run.phase;
  context.epoch = run.position.epoch;
  context.num_batches = run.source.NumBatches();
  context.step = run.position.step;
  context.global_batch = run.position.global_batch;
  context.model = &run.model;
  const c10::NoGradGuard no_grad;
  run.model.SetTraining(false);
  on_epoch_start.Fire(context);

  Result result;
  Pieces pieces;
  Batch batch;
  while (run.source.Next(batch)) {
    if (run.control.ShouldLeave()) {
      result.left_early = true;
      return result;
    }
    context.indices = run.source.Indices();
    run.Receive(batch, context.batch);
    context.entry = &batch;
    context.samples = batch.Size();
    on_pre_step.Fire(context);
    {
      const AutocastGuard autocast(options_.precision, run.device.type());
      const Batch returned = Explained(
          "model", batch, &run.model, [&] { return run.model.Forward(batch); });
      batch.Merge(returned);
      Postprocess(options_.postprocessors, batch);
      context.outputs = Select(batch, returned, context.indices);
    }
    on_post_step.Fire(context);
    if (options_.join) {
      AddPiece(pieces, context.outputs);
      result.indices.insert(result.indices.end(), context.indices.begin(),
                            context.indices.end());
    }
    ++result.num_batches;
    ++context.batch;
  }
  context.entry = nullptr;
  context.outputs = {};
  if (options_.join) result.joined = Join(pieces);
  if (merge) merge(result);
  context.joined = result.joined;
  context.indices = result.indices;
  on_epoch_end.Fire(context);
  return result;
}

PredictionRunner::Result JoinRanks(
    const std::vector<PredictionRunner::Result>& parts) {
  PredictionRunner::Result all;
  Pieces pieces;
  const Batch* first = nullptr;
  for (const PredictionRunner::Result& part : parts) {
    all.num_batches += part.num_batches;
    if (part.joined.empty()) continue;
    if (first == nullptr) first = &part.joined;
    for (const auto& [name, tensor] : *first) {
      if (part.joined.Find(name) == nullptr) {
        throw Error(ErrorKind::kTraining,
                    "prediction: one rank has no output \"" + name + "\"");
      }
    }
    AddPiece(pieces, part.joined);
    all.indices.insert(all.indices.end(), part.indices.begin(),
                       part.indices.end());
  }
  all.joined = Join(pieces);
  // Back into the order of the data set.
  std::vector<int64_t> order(all.indices.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&all](int64_t a, int64_t b) {
    return all.indices[static_cast<size_t>(a)] <
           all.indices[static_cast<size_t>(b)];
  });
  const at::Tensor places = at::tensor(order, at::kLong);
  Batch sorted;
  for (const auto& [name, tensor] : all.joined) {
    sorted.Set(name, tensor.size(0) == places.size(0)
                         ? tensor.index_select(0, places)
                         : tensor);
  }
  all.joined = sorted;
  std::sort(all.indices.begin(), all.indices.end());
  return all;
}

std::string ToBytes(const PredictionRunner::Result& result) {
  nlohmann::ordered_json head = {{"indices", result.indices},
                                 {"num_batches", result.num_batches},
                                 {"fields", nlohmann::ordered_json::array()}};
  std::string data;
  for (const auto& [name, tensor] : result.joined) {
    const at::Tensor bytes = tensor.contiguous();
    head["fields"].push_back({{"name", name},
                              {"type", static_cast<int>(tensor.scalar_type())},
                              {"shape", tensor.sizes().vec()},
                              {"bytes", bytes.nbytes()}});
    data.append(static_cast<const char*>(bytes.const_data_ptr()),
                bytes.nbytes());
  }
  return head.dump() + "\n" + data;
}

PredictionRunner::Result FromBytes(const std::string& bytes) {
  const size_t line = bytes.find('\n');
  const auto head = nlohmann::ordered_json::parse(bytes.substr(0, line));
  PredictionRunner::Result result;
  result.indices = head.at("indices").get<std::vector<int64_t>>();
  result.num_batches = head.at("num_batches").get<int64_t>();
  size_t offset = line + 1;
  for (const auto& field : head.at("fields")) {
    at::Tensor tensor =
        at::empty(field.at("shape").get<std::vector<int64_t>>(),
                  static_cast<at::ScalarType>(field.at("type").get<int>()));
    std::copy_n(bytes.data() + offset, tensor.nbytes(),
                static_cast<char*>(tensor.mutable_data_ptr()));
    offset += tensor.nbytes();
    result.joined.Set(field.at("name").get<std::string>(), tensor);
  }
  return result;
}

}  // namespace epochd::engine
