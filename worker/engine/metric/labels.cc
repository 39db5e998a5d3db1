// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/labels.h"

#include <ATen/ATen.h>

#include <limits>
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
  return output.dim() == target.dim() + 1 &&
         !AddsOne(output.sizes(), target.sizes());
}

// Of each sample [..., C] they are 0 or more and add up to 1.
void CheckProbabilities(const at::Tensor& rows, const ComparedFields& fields) {
  // Those of half precision, or mixed, are not exact.
  constexpr double kRounding = 0.01;
  const double least = rows.min().item<double>();
  const at::Tensor sums = rows.sum(-1, /*keepdim=*/false, at::kDouble);
  const double off = sums.sub(1).abs().max().item<double>();
  if (least >= -kRounding && off <= kRounding) return;
  std::ostringstream message;
  message << "batch field \"" << fields.target << "\": numbers from " << least
          << " to " << rows.max().item<double>() << " that add up to "
          << sums.min().item<double>() << " to " << sums.max().item<double>()
          << " for a sample; class probabilities, which add up to 1, or "
             "integer classes without the second dimension are accepted";
  throw Error(ErrorKind::kTraining, message.str());
}

void CheckClasses(const at::Tensor& classes, int64_t num_classes,
                  const ComparedFields& fields, int64_t ignore_index) {
  const int64_t least = classes.min().item<int64_t>();
  const int64_t most = classes.max().item<int64_t>();
  if (least >= 0 && most < num_classes) return;
  throw Error(ErrorKind::kTraining,
              "batch field \"" + fields.target + "\": class " +
                  std::to_string(least < 0 ? least : most) + "; 0 to " +
                  std::to_string(num_classes - 1) + " of \"" + fields.output +
                  "\" or the ignore_index " + std::to_string(ignore_index) +
                  " is accepted");
}

// Labels are no, yes, or a share between, where they count.
void CheckLabels(const at::Tensor& target, const at::Tensor& weights,
                 const ComparedFields& fields) {
  if (target.numel() == 0) return;
  const at::Tensor counted = Blanked(target, weights);
  const double least = counted.min().item<double>();
  const double most = counted.max().item<double>();
  if (least >= 0 && most <= 1) return;
  std::ostringstream message;
  message << "batch field \"" << fields.target << "\": numbers from " << least
          << " to " << most
          << " as yes-or-no labels; 0 to 1 is accepted, or integer classes "
             "without the second dimension";
  throw Error(ErrorKind::kTraining, message.str());
}

LabelledScores ReadClasses(const Batch& batch, const LabelOptions& options) {
  const TrueClasses classes = ReadTrueClasses(
      batch, options.fields, options.weighing, options.ignore_index);
  LabelledScores read;
  read.has_classes = true;
  read.scores = InRows(classes.scores);
  read.target = classes.target.reshape({-1});
  if (classes.weights.defined()) {
    at::Tensor weights =
        classes.weights.expand(classes.target.sizes()).reshape({-1});
    const at::Tensor counts = weights.ne(0);
    if (!counts.all().item<bool>()) {
      read.scores = read.scores.index({counts});
      read.target = read.target.index({counts});
      weights = weights.index({counts});
    }
    if (!options.weighing.empty()) read.weights = weights;
  }
  return read;
}

}  // namespace

TrueClasses ReadTrueClasses(const Batch& batch, const ComparedFields& fields,
                            const Weighing& weighing, int64_t ignore_index) {
  const auto [scores, given] = ClassScores(batch, fields);
  const bool is_index = given.dim() != scores.dim();
  TrueClasses read;
  read.scores = scores;
  read.target = is_index ? given : given.argmax(1);
  read.weights = WeightsOf(batch, weighing, read.target.sizes(), at::kDouble);
  if (is_index) {
    const at::Tensor is_class = read.target.ne(ignore_index).to(at::kDouble);
    read.weights = read.weights.defined() ? read.weights * is_class : is_class;
  }
  // What does not count may be anything.
  at::Tensor counted = is_index ? read.target : given.movedim(1, -1);
  if (read.weights.defined()) {
    counted = counted.index({read.weights.expand(read.target.sizes()).ne(0)});
  }
  if (counted.numel() == 0) return read;
  if (is_index) {
    CheckClasses(counted, scores.size(1), fields, ignore_index);
  } else {
    CheckProbabilities(counted, fields);
  }
  return read;
}

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
    read.weights = ignored.logical_not().to(at::kDouble);
  }
  const at::Tensor given_weights =
      WeightsOf(batch, options.weighing, scores.sizes(), at::kDouble);
  if (given_weights.defined()) {
    const at::Tensor rows = InRows(given_weights.expand(scores.sizes()));
    read.weights = read.weights.defined() ? read.weights * rows : rows;
  }
  CheckLabels(read.target, read.weights, options.fields);
  // Soft targets are the more likely of both.
  read.target = read.target.ge(0.5).to(at::kDouble);
  return read;
}

at::Tensor NanIfAnyIs(const at::Tensor& scores, const at::Tensor& weights) {
  at::Tensor is_nan = scores.isnan();
  if (weights.defined()) {
    if (weights.dim() < scores.dim()) is_nan = is_nan.any(1);
    is_nan = is_nan.logical_and(weights.ne(0));
  }
  return at::zeros({}, scores.options().dtype(at::kDouble))
      .masked_fill(is_nan.any(), std::numeric_limits<double>::quiet_NaN());
}

at::Tensor GivenLabels(const at::Tensor& scores, double threshold,
                       bool from_logits) {
  return (from_logits ? at::sigmoid(scores) : scores).ge(threshold);
}

void LogitWatch::Look(const at::Tensor& scores) {
  if (!all_are_shares_ || scores.numel() == 0) return;
  has_seen_ = true;
  const auto [least, most] = scores.aminmax();
  all_are_shares_ = least.item<double>() >= 0 && most.item<double>() <= 1;
}

std::string LogitWatch::Doubt() const {
  if (!has_seen_ || !all_are_shares_) return {};
  return "all scores lie in [0, 1], as probabilities do, and are taken for "
         "logits; from_logits: false takes them as they are";
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
