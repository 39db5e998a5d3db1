// SPDX-License-Identifier: Apache-2.0
//
// Metrics of decisions, of one class against the others, from their counts of
// true and false positives and negatives (tp, fp, fn, tn):
//
//   precision    tp / (tp + fp)
//   recall       tp / (tp + fn)
//   specificity  tn / (tn + fp)
//   fbeta        (1 + b^2) tp / ((1 + b^2) tp + b^2 fn + fp); f1 is b = 1
//   iou          tp / (tp + fp + fn)
//   accuracy     (tp + tn) / all
//
// averaged over classes: macro, each alike; weighted, by how often a class is
// true; micro, of the sums of all counts. As in torchmetrics and scikit-learn a
// ratio of nothing is 0, and macro leaves out classes (not labels) that are
// neither true nor predicted anywhere. NaN without any sample.
//
// ConfusionMatrix gives its counts as a table, and `<name>/labels`, how many
// there are.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/metric.h"
#include "worker/engine/metric/tally.h"

namespace epochd::engine {

enum class Average { kMacro, kMicro, kWeighted };
// "macro", "micro" or "weighted".
Average AverageOf(const std::string& name);

struct DecisionOptions {
  LabelOptions labels = {};
  std::string name = {};
  // Probability from which on a label is given.
  double threshold = 0.5;
  // Names of classes; empty: numbers.
  std::vector<std::string> classes = {};
};

// What both have: reading, counting.
class DecisionMetric : public Metric {
 public:
  const std::string& name() const final { return options_.name; }
  void Reset() final { tally_.Reset(); }
  void Update(const Batch& batch) final;
  at::Tensor Sums() const final { return tally_.Sums(); }
  bool higher_is_better() const final { return true; }
  std::string Doubt() const final { return watch_.Doubt(); }

 protected:
  explicit DecisionMetric(DecisionOptions options)
      : options_(std::move(options)) {}
  const DecisionOptions& options() const { return options_; }

 private:
  const DecisionOptions options_;
  Tally tally_;
  LogitWatch watch_;
};

class ClassScore : public DecisionMetric {
 public:
  enum class Kind {
    kPrecision,
    kRecall,
    kSpecificity,
    kFBeta,
    kIou,
    kAccuracy,
  };
  struct Options : DecisionOptions {
    Kind kind = Kind::kFBeta;
    double beta = 1.0;
    Average average = Average::kMacro;
    // Also `<name>/<class>` of each.
    bool per_class = false;
  };

  explicit ClassScore(const Options& options)
      : DecisionMetric(options),
        kind_(options.kind),
        beta_(options.beta),
        average_(options.average),
        per_class_(options.per_class) {}

  std::vector<std::pair<std::string, double>> Values(
      const Collected& all) const override;

 private:
  double Ratio(const ClassCounts& counts) const;

  const Kind kind_;
  const double beta_;
  const Average average_;
  const bool per_class_;
};

class ConfusionMatrix : public DecisionMetric {
 public:
  explicit ConfusionMatrix(DecisionOptions options)
      : DecisionMetric(std::move(options)) {}

  std::vector<std::pair<std::string, double>> Values(
      const Collected& all) const override;
  std::vector<MetricTable> Tables(const Collected& all) const override;
};

}  // namespace epochd::engine
