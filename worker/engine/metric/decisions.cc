// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/decisions.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace epochd::engine {
namespace {

double RatioOrZero(double part, double whole) {
  // Counts are NaN where scores are.
  return whole > 0 || std::isnan(whole) ? part / whole : 0;
}

}  // namespace

Average AverageOf(const std::string& name) {
  if (name == "macro") return Average::kMacro;
  if (name == "micro") return Average::kMicro;
  if (name == "weighted") return Average::kWeighted;
  throw std::logic_error("average: " + name);
}

void DecisionMetric::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const LabelledScores read = ReadLabels(batch, options_.labels);
  // The order of classes is the same.
  if (options_.labels.from_logits && !read.has_classes) {
    watch_.Look(read.scores);
  }
  tally_.Add(read, options_.threshold, options_.labels.from_logits);
}

double ClassScore::Ratio(const ClassCounts& counts) const {
  const auto& [tp, fp, fn, tn] = counts;
  const double square = beta_ * beta_;
  switch (kind_) {
    case Kind::kPrecision:
      return RatioOrZero(tp, tp + fp);
    case Kind::kRecall:
      return RatioOrZero(tp, tp + fn);
    case Kind::kSpecificity:
      return RatioOrZero(tn, tn + fp);
    case Kind::kFBeta:
      return RatioOrZero((1 + square) * tp,
                         (1 + square) * tp + square * fn + fp);
    case Kind::kIou:
      return RatioOrZero(tp, tp + fp + fn);
    case Kind::kAccuracy:
      break;
  }
  return RatioOrZero(tp + tn, tp + fp + fn + tn);
}

std::vector<std::pair<std::string, double>> ClassScore::Values(
    const Collected& all) const {
  const Tally::View view = Tally::Read(all.sums);
  ClassCounts total;
  double sum = 0;
  double weights = 0;
  std::vector<std::pair<std::string, double>> of_classes;
  const std::vector<ClassCounts> classes = view.ByClass();
  for (const ClassCounts& each : classes) {
    total.true_positives += each.true_positives;
    total.false_positives += each.false_positives;
    total.false_negatives += each.false_negatives;
    total.true_negatives += each.true_negatives;
    const bool is_absent =
        view.has_classes && each.support() + each.false_positives == 0;
    const double weight = average_ == Average::kWeighted ? each.support()
                          : is_absent                    ? 0
                                                         : 1;
    sum += weight * Ratio(each);
    weights += weight;
  }
  const bool is_empty =
      total.support() + total.false_positives + total.true_negatives == 0;
  double value = std::numeric_limits<double>::quiet_NaN();
  if (!is_empty) {
    value =
        average_ == Average::kMicro ? Ratio(total) : RatioOrZero(sum, weights);
  }
  std::vector<std::pair<std::string, double>> values = {{name(), value}};
  if (per_class_ && view.matrix.defined()) {
    const std::vector<std::string> names =
        ClassNames(options().classes, view.classes());
    for (size_t i = 0; i < names.size(); ++i) {
      values.emplace_back(name() + "/" + names[i], Ratio(classes[i]));
    }
  }
  return values;
}

std::vector<std::pair<std::string, double>> ConfusionMatrix::Values(
    const Collected& all) const {
  const Tally::View view = Tally::Read(all.sums);
  return {{name() + "/labels",
           view.matrix.defined() ? view.matrix.sum().item<double>() : 0.0}};
}

std::vector<MetricTable> ConfusionMatrix::Tables(const Collected& all) const {
  const Tally::View view = Tally::Read(all.sums);
  if (!view.matrix.defined()) return {};
  std::vector<std::string> names =
      ClassNames(options().classes, view.classes());
  if (!view.has_classes) {
    return {{name(),
             "label",
             std::move(names),
             {"tp", "fp", "fn", "tn"},
             view.matrix}};
  }
  return {{name(), "true\\predicted", names, names, view.matrix}};
}

}  // namespace epochd::engine
