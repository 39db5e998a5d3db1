// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/tally.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

at::Tensor MatrixOfClasses(const LabelledScores& read) {
  const int64_t classes = read.scores.size(1);
  const at::Tensor cells = read.target * classes + read.scores.argmax(1);
  if (read.weights.defined()) {
    // A bincount with weights is not the same each time on a device.
    return at::zeros({classes * classes}, read.weights.options())
        .index_put_({cells}, read.weights, /*accumulate=*/true)
        .reshape({classes, classes});
  }
  return at::bincount(cells, {}, classes * classes)
      .reshape({classes, classes})
      .to(at::kDouble);
}

at::Tensor CountsOfLabels(const LabelledScores& read, double threshold,
                          bool from_logits) {
  const at::Tensor given =
      GivenLabels(read.scores, threshold, from_logits).to(at::kDouble);
  const at::Tensor& truth = read.target;
  const auto total = [&read](const at::Tensor& cells) {
    return (read.weights.defined() ? cells * read.weights : cells).sum(0);
  };
  return at::stack(
      {total(truth * given), total((1 - truth) * given),
       total(truth * (1 - given)), total((1 - truth) * (1 - given))},
      1);
}

}  // namespace

void Tally::Add(const LabelledScores& read, double threshold,
                bool from_logits) {
  const at::Tensor counts =
      (read.has_classes ? MatrixOfClasses(read)
                        : CountsOfLabels(read, threshold, from_logits)) +
      NanIfAnyIs(read.scores, read.weights);
  if (!counts_.defined()) {
    counts_ = counts;
    has_classes_ = read.has_classes;
    return;
  }
  if (counts_.sizes() != counts.sizes() || has_classes_ != read.has_classes) {
    throw Error(ErrorKind::kTraining,
                "scores of " + std::to_string(counts.size(0)) + " " +
                    (read.has_classes ? "classes" : "labels") +
                    " in a batch after batches of " +
                    std::to_string(counts_.size(0)) +
                    "; one number for all batches is accepted");
  }
  counts_ += counts;
}

at::Tensor Tally::Sums() const {
  if (!counts_.defined()) return at::empty({0}, at::kDouble);
  const at::Tensor flat = counts_.cpu().flatten();
  // The sign tells, and adds up.
  return at::cat({at::full({1}, has_classes_ ? 1.0 : -1.0, at::kDouble), flat});
}

Tally::View Tally::Read(const at::Tensor& sums) {
  View view;
  if (sums.numel() == 0) return view;
  const at::Tensor counts = sums.slice(0, 1);
  view.has_classes = sums[0].item<double>() > 0;
  if (view.has_classes) {
    const auto classes = std::lround(std::sqrt(counts.numel()));
    view.matrix = counts.reshape({classes, classes});
  } else {
    view.matrix = counts.reshape({-1, 4});
  }
  return view;
}

std::vector<ClassCounts> Tally::View::ByClass() const {
  std::vector<ClassCounts> all;
  if (!matrix.defined()) return all;
  const at::Tensor whole = matrix.contiguous();
  const double* cell = whole.const_data_ptr<double>();
  const int64_t n = classes();
  if (!has_classes) {
    for (int64_t i = 0; i < n; ++i, cell += 4) {
      all.push_back({cell[0], cell[1], cell[2], cell[3]});
    }
    return all;
  }
  const double total = whole.sum().item<double>();
  for (int64_t i = 0; i < n; ++i) {
    double row = 0;
    double column = 0;
    for (int64_t j = 0; j < n; ++j) {
      row += cell[i * n + j];
      column += cell[j * n + i];
    }
    const double hits = cell[i * n + i];
    all.push_back(
        {hits, column - hits, row - hits, total - row - column + hits});
  }
  return all;
}

}  // namespace epochd::engine
