// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/ranking.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Sorts from the highest score. False: some score is no number.
bool SortDown(Ranked& ranked) {
  for (const RankedScore& each : ranked) {
    if (std::isnan(each.score)) return false;
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.score > b.score; });
  return true;
}

// Calls `at(true positives, false positives)` after each distinct score.
template <class F>
void ForEachThreshold(const Ranked& ranked, F at) {
  double positives = 0;
  double negatives = 0;
  for (size_t i = 0; i < ranked.size(); ++i) {
    (ranked[i].is_true ? positives : negatives) += ranked[i].weight;
    if (i + 1 == ranked.size() || ranked[i + 1].score != ranked[i].score) {
      at(positives, negatives);
    }
  }
}

double WeightOf(const Ranked& ranked, bool is_true) {
  double sum = 0;
  for (const RankedScore& each : ranked) {
    if (each.is_true == is_true) sum += each.weight;
  }
  return sum;
}

// Rows of all samples: [kind, scores..., truth..., weights...], where the truth
// is a class, or one number a label (NaN: does not count). Weights are as the
// truth, and there where the kind says so.
constexpr double kClasses = 1;
constexpr double kLabels = -1;
constexpr double kWeighed = 2;  // times one of these

class RowView {
 public:
  explicit RowView(const at::Tensor& rows)
      : rows_(rows.to(at::kDouble).contiguous()),
        columns_(rows_.size(1)),
        has_classes_(rows_.const_data_ptr<double>()[0] > 0),
        has_weights_(std::abs(rows_.const_data_ptr<double>()[0]) == kWeighed) {}

  int64_t classes() const {
    if (has_classes_) return columns_ - (has_weights_ ? 3 : 2);
    return (columns_ - 1) / (has_weights_ ? 3 : 2);
  }
  // One class at a time, as all at once would be several times the rows.
  void AddClass(int64_t index, Ranked& ranked) const {
    const double* row = rows_.const_data_ptr<double>();
    for (int64_t n = 0; n < rows_.size(0); ++n, row += columns_) {
      const double score = row[1 + index];
      if (has_classes_) {
        ranked.push_back({score,
                          row[1 + classes()] == static_cast<double>(index),
                          has_weights_ ? row[columns_ - 1] : 1});
        continue;
      }
      const double truth = row[1 + classes() + index];
      if (std::isnan(truth)) continue;
      ranked.push_back({score, truth > 0,
                        has_weights_ ? row[1 + 2 * classes() + index] : 1});
    }
  }

 private:
  const at::Tensor rows_;
  const int64_t columns_;
  const bool has_classes_;
  const bool has_weights_;
};

}  // namespace

double AreaUnderRoc(Ranked ranked) {
  const double positives = WeightOf(ranked, true);
  const double negatives = WeightOf(ranked, false);
  if (positives == 0 || negatives == 0 || !SortDown(ranked)) return kNone;
  double area = 0;
  double last_true = 0;
  double last_false = 0;
  ForEachThreshold(ranked, [&](double is_true, double is_false) {
    area += (is_false - last_false) * (is_true + last_true) / 2;
    last_true = is_true;
    last_false = is_false;
  });
  return area / positives / negatives;
}

double AveragePrecisionOf(Ranked ranked) {
  const double positives = WeightOf(ranked, true);
  if (positives == 0 || !SortDown(ranked)) return kNone;
  double sum = 0;
  double last_true = 0;
  ForEachThreshold(ranked, [&](double is_true, double is_false) {
    sum += (is_true - last_true) * is_true / (is_true + is_false);
    last_true = is_true;
  });
  return sum / positives;
}

void RankingMetric::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  LabelledScores read = ReadLabels(batch, options_.labels);
  const auto type = read.scores.options();
  at::Tensor truth;
  if (read.has_classes) {
    if (options_.labels.from_logits) {
      watch_.Look(read.scores);
      read.scores = at::softmax(read.scores, 1);
    }
    truth = read.target.unsqueeze(1).to(type);
  } else {
    // A sigmoid keeps the order, so logits stay as they are.
    truth = read.target.to(type);
    if (read.weights.defined()) {
      truth = truth.masked_fill(read.weights.eq(0), kNone);
    }
  }
  // Said by the job, not by the batch: rows of all batches are alike.
  const bool is_weighed = !options_.labels.weighing.empty();
  const double kind =
      (read.has_classes ? kClasses : kLabels) * (is_weighed ? kWeighed : 1);
  std::vector<at::Tensor> columns = {
      at::full({read.scores.size(0), 1}, kind, type), read.scores, truth};
  if (is_weighed) {
    columns.push_back(read.weights.reshape(truth.sizes()).to(type));
  }
  at::Tensor part = at::cat(columns, 1);
  if (!parts_.empty() && parts_.front().size(1) != part.size(1)) {
    throw Error(ErrorKind::kTraining,
                "scores of " + std::to_string(read.scores.size(1)) +
                    " classes in a batch after batches of another number; one "
                    "number for all batches is accepted");
  }
  parts_.push_back(std::move(part));
}

at::Tensor RankingMetric::Sums() const { return at::empty({0}, at::kDouble); }

at::Tensor RankingMetric::Rows() const {
  if (parts_.empty()) return {};
  return at::cat(parts_).cpu();
}

std::vector<std::pair<std::string, double>> RankingMetric::Values(
    const Collected& all) const {
  if (!all.rows.defined() || all.rows.size(0) == 0) {
    return {{options_.name, kNone}};
  }
  const auto measure = options_.precision ? &AveragePrecisionOf : &AreaUnderRoc;
  const RowView rows(all.rows);
  std::vector<double> of_classes;
  Ranked together;
  double sum = 0;
  double weights = 0;
  for (int64_t i = 0; i < rows.classes(); ++i) {
    if (options_.average == Average::kMicro) {
      rows.AddClass(i, together);
      if (!options_.per_class) continue;
    }
    Ranked ranked;
    rows.AddClass(i, ranked);
    const double value = measure(ranked);
    of_classes.push_back(value);
    if (std::isnan(value)) continue;
    const double weight =
        options_.average == Average::kWeighted ? WeightOf(ranked, true) : 1;
    sum += weight * value;
    weights += weight;
  }
  double value = weights > 0 ? sum / weights : kNone;
  if (options_.average == Average::kMicro) value = measure(std::move(together));
  std::vector<std::pair<std::string, double>> values = {{options_.name, value}};
  if (options_.per_class) {
    const std::vector<std::string> names =
        ClassNames(options_.classes, rows.classes());
    for (size_t i = 0; i < names.size(); ++i) {
      values.emplace_back(options_.name + "/" + names[i], of_classes[i]);
    }
  }
  return values;
}

}  // namespace epochd::engine
