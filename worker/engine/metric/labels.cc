// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/labels.h"

#include <ATen/ATen.h>

#include <sstream>
#include <stdexcept>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {
namespace {

using Task = LabelOptions::Task;

// [B, K, ...] as [N, K]; [B] as [B, 1].
at::Tensor InRows(const at::Tensor& values) {
  if (values.dim() < 2) return values.reshape({-1, 1});
  return values.movedim(1, -1).reshape({-1, values.size(1)});
}

bool HasClasses(const at::Tensor& output, const at::Tensor& target,
                const LabelOptions& options) {
  if (options.task != Task::kAuto) return options.task == Task::kClasses;
  return output.dim() == target.dim() + 1;
}

LabelledScores ReadClasses(const Batch& batch, const LabelOptions& options) {
  const auto [scores, given] = ClassScores(batch, options.fields);
  const bool is_index = given.dim() != scores.dim();
  LabelledScores read;
  read.has_classes = true;
  read.scores = InRows(scores);
  read.target = (is_index ? given : given.argmax(1)).reshape({-1});
  std::vector<int64_t> shape = scores.sizes().vec();
  shape.erase(shape.begin() + 1);
  at::Tensor counts;
  if (is_index) counts = read.target.ne(options.ignore_index);
  const at::Tensor mask =
      WeightsOf(batch, {.mask = options.mask}, shape, at::kFloat);
  if (mask.defined()) {
    const at::Tensor flat = mask.expand(shape).reshape({-1}).ne(0);
    counts = counts.defined() ? counts.logical_and(flat) : flat;
  }
  if (counts.defined() && !counts.all().item<bool>()) {
    read.scores = read.scores.index({counts});
    read.target = read.target.index({counts});
  }
  const int64_t classes = read.scores.size(1);
  if (read.target.numel() > 0) {
    const int64_t least = read.target.min().item<int64_t>();
    const int64_t most = read.target.max().item<int64_t>();
    if (least < 0 || most >= classes) {
      throw Error(ErrorKind::kTraining,
                  "batch field \"" + options.fields.target + "\": class " +
                      std::to_string(least < 0 ? least : most) + "; 0 to " +
                      std::to_string(classes - 1) + " of \"" +
                      options.fields.output + "\" or the ignore_index " +
                      std::to_string(options.ignore_index) + " is accepted");
    }
  }
  return read;
}

}  // namespace

LabelOptions::Task LabelTaskOf(const std::string& name) {
  if (name == "auto") return Task::kAuto;
  if (name == "multiclass") return Task::kClasses;
  if (name == "multilabel" || name == "binary") return Task::kLabels;
  throw std::logic_error("task: " + name);
}

LabelledScores ReadLabels(const Batch& batch, const LabelOptions& options) {
  const at::Tensor& output = batch.At(options.fields.output);
  const at::Tensor& given = batch.At(options.fields.target);
  if (HasClasses(output, given, options)) return ReadClasses(batch, options);
  const auto [scores, target] = SameShape(batch, options.fields);
  LabelledScores read;
  read.scores = InRows(scores);
  read.target = InRows(target).to(at::kDouble);
  const at::Tensor ignored = read.target.isnan().logical_or(
      read.target.eq(static_cast<double>(options.ignore_index)));
  if (ignored.any().item<bool>()) {
    read.counts = ignored.logical_not().to(at::kDouble);
  }
  const at::Tensor mask =
      WeightsOf(batch, {.mask = options.mask}, scores.sizes(), at::kDouble);
  if (mask.defined()) {
    const at::Tensor rows =
        InRows(mask.expand(scores.sizes())).ne(0).to(at::kDouble);
    read.counts = read.counts.defined() ? read.counts * rows : rows;
  }
  // Soft targets are the more likely of both.
  read.target = read.target.ge(0.5).to(at::kDouble);
  return read;
}

at::Tensor GivenLabels(const at::Tensor& scores, double threshold,
                       bool from_logits) {
  return (from_logits ? at::sigmoid(scores) : scores).ge(threshold);
}

std::vector<std::string> ClassNames(const std::vector<std::string>& given,
                                    int64_t classes) {
  if (given.empty()) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
    return names;
  }
  if (static_cast<int64_t>(given.size()) != classes) {
    throw Error(ErrorKind::kBadSpec,
                "classes: " + std::to_string(given.size()) + " names for " +
                    std::to_string(classes) +
                    " classes; one for each is accepted");
  }
  return given;
}

}  // namespace epochd::engine
