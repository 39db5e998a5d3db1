// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/challenge_score.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "worker/engine/core/error.h"
#include "worker/engine/core/parse_number.h"
#include "worker/engine/data/file_bytes.h"

namespace epochd::engine {
namespace {

constexpr int64_t kMaxTableBytes = 16 << 20;

[[noreturn]] void FailTable(const std::string& path, size_t line,
                            const std::string& problem) {
  throw Error(ErrorKind::kBadSpec,
              path + ":" + std::to_string(line) + ": " + problem);
}

std::string_view Stripped(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

std::vector<std::string_view> Cells(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const size_t comma = line.find(',');
    cells.push_back(Stripped(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

double NumberOf(std::string_view cell, const std::string& path, size_t line) {
  const auto number = ParseNumber<double>(cell);
  if (!number) {
    FailTable(path, line,
              "\"" + std::string(cell.substr(0, 40)) + "\" is no number");
  }
  return *number;
}

}  // namespace

ChallengeScore::ChallengeScore(Options options) : options_(std::move(options)) {
  const auto n = static_cast<int64_t>(options_.weights.size());
  std::vector<double> flat;
  for (const auto& row : options_.weights) {
    flat.insert(flat.end(), row.begin(), row.end());
  }
  weights_ = at::tensor(flat, at::kDouble).reshape({n, n});
}

void ChallengeScore::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const LabelledScores read = ReadLabels(batch, options_.labels);
  const int64_t classes = weights_.size(0);
  if (read.scores.size(1) != classes) {
    throw Error(ErrorKind::kBadSpec, "weights: a matrix of " +
                                         std::to_string(classes) +
                                         " classes for scores of " +
                                         std::to_string(read.scores.size(1)) +
                                         "; one for each class is accepted");
  }
  weights_ = weights_.to(read.scores.device());
  at::Tensor truth;
  at::Tensor given;
  if (read.has_classes) {
    truth = at::one_hot(read.target, classes).to(at::kDouble);
    given = at::one_hot(read.scores.argmax(1), classes).to(at::kDouble);
  } else {
    truth = read.target;
    given = GivenLabels(read.scores, options_.threshold,
                        options_.labels.from_logits)
                .to(at::kDouble);
    if (read.counts.defined()) {
      truth = truth * read.counts;
      given = given * read.counts;
    }
  }
  at::Tensor normal = at::zeros_like(given);
  normal.select(1, options_.normal_class).fill_(1);
  const auto earned = [&](const at::Tensor& labels) {
    const at::Tensor size = at::maximum(truth, labels).sum(1).clamp_min(1);
    return (truth.matmul(weights_) * labels).sum(1).div(size).sum();
  };
  const at::Tensor sums =
      at::stack({earned(given), earned(truth), earned(normal),
                 at::full({}, truth.size(0), truth.options())});
  sums_ = sums_.defined() ? sums_ + sums : sums;
}

at::Tensor ChallengeScore::Sums() const {
  return sums_.defined() ? sums_.cpu() : at::zeros({4}, at::kDouble);
}

std::vector<std::pair<std::string, double>> ChallengeScore::Values(
    const Collected& all) const {
  const double* sum = all.sums.const_data_ptr<double>();
  double value = std::numeric_limits<double>::quiet_NaN();
  if (sum[3] > 0) {
    const double span = sum[1] - sum[2];
    value = span != 0 ? (sum[0] - sum[2]) / span : 0;
  }
  return {{options_.name, value}};
}

WeightTable ReadWeightTable(const std::string& path,
                            const std::vector<std::string>& classes) {
  const std::string text = ReadFileBytes(path, kMaxTableBytes);
  WeightTable table;
  std::vector<std::string> names;
  std::string_view rest = text;
  size_t line = 0;
  while (!rest.empty()) {
    ++line;
    const size_t end = rest.find('\n');
    const std::string_view content = Stripped(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (content.empty()) continue;
    const std::vector<std::string_view> cells = Cells(content);
    if (names.empty()) {
      names.assign(cells.begin() + 1, cells.end());
      if (names.empty() || names.size() > 4096) {
        FailTable(path, line, "no row of 1 to 4096 classes");
      }
      continue;
    }
    const size_t row = table.weights.size();
    if (row == names.size() || cells[0] != names[row] ||
        cells.size() != names.size() + 1) {
      FailTable(path, line,
                "no row of the class \"" +
                    (row < names.size() ? names[row] : std::string()) +
                    "\" with " + std::to_string(names.size()) +
                    " numbers; rows and columns must be the same classes");
    }
    std::vector<double> numbers;
    for (size_t i = 1; i < cells.size(); ++i) {
      numbers.push_back(NumberOf(cells[i], path, line));
    }
    table.weights.push_back(std::move(numbers));
  }
  if (names.empty() || table.weights.size() != names.size()) {
    FailTable(path, line,
              std::to_string(table.weights.size()) + " rows for " +
                  std::to_string(names.size()) + " classes");
  }
  table.classes = names;
  if (classes.empty()) return table;
  std::vector<size_t> places;
  for (const std::string& name : classes) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      FailTable(path, 1, "has no class \"" + name + "\"");
    }
    places.push_back(static_cast<size_t>(found - names.begin()));
  }
  WeightTable chosen{.classes = classes, .weights = {}};
  for (const size_t row : places) {
    chosen.weights.emplace_back();
    for (const size_t column : places) {
      chosen.weights.back().push_back(table.weights[row][column]);
    }
  }
  return chosen;
}

}  // namespace epochd::engine
