// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/splits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "worker/engine/core/error.h"
#include "worker/engine/data/random.h"

namespace epochd::engine {
namespace {

using Rows = std::vector<int64_t>;

// Keeps the draws of different steps apart.
Random DrawsOf(uint64_t seed, uint64_t what) {
  return Random({static_cast<uint64_t>(Stream::kSplit), seed, what});
}

Rows AllRows(int64_t size) {
  Rows rows(static_cast<size_t>(size));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// Rows by value, ascending.
std::map<int64_t, Rows> RowsByValue(const std::vector<int64_t>& values) {
  std::map<int64_t, Rows> rows;
  for (size_t i = 0; i < values.size(); ++i) {
    rows[values[i]].push_back(static_cast<int64_t>(i));
  }
  return rows;
}

void CheckFractions(const std::vector<double>& fractions) {
  double sum = 0;
  for (double fraction : fractions) {
    if (!(fraction >= 0 && fraction <= 1)) {
      throw Error(ErrorKind::kBadSpec,
                  "split: a fraction is " + std::to_string(fraction) +
                      "; numbers from 0 to 1 are accepted");
    }
    sum += fraction;
  }
  if (fractions.empty() || sum > 1 + 1e-9) {
    throw Error(ErrorKind::kBadSpec,
                "split: fractions add up to " + std::to_string(sum) +
                    "; one or more that add up to 1 or less are accepted");
  }
}

// Deals out classes one after the other. Each part gets the whole samples of
// its share of a class; what is left of the class goes where most is missing
// over all classes so far, so that the parts' sizes come out right too.
std::vector<int> SplitClasses(int64_t size,
                              std::vector<std::pair<uint64_t, Rows>> classes,
                              std::vector<double> fractions, uint64_t seed) {
  double given = 0;
  for (double fraction : fractions) given += fraction;
  const size_t num_parts = fractions.size();
  // The samples of no part are a part too.
  fractions.push_back(std::max(0.0, 1.0 - given));
  std::vector<double> missing(fractions.size());
  std::vector<int> part_of(static_cast<size_t>(size), kNoPart);
  for (auto& [name, rows] : classes) {
    Random random = DrawsOf(seed, name);
    random.Shuffle(rows);
    size_t next = 0;
    const auto deal = [&](size_t part) {
      if (part < num_parts) {
        part_of[static_cast<size_t>(rows[next])] = static_cast<int>(part);
      }
      ++next;
      missing[part] -= 1;
    };
    const auto count = static_cast<double>(rows.size());
    for (size_t part = 0; part < fractions.size(); ++part) {
      const double share = count * fractions[part];
      missing[part] += share;
      // 0.7 * 10 is a little less than 7.
      const auto whole = static_cast<int64_t>(std::floor(share + 1e-9));
      for (int64_t i = 0; i < whole && next < rows.size(); ++i) deal(part);
    }
    while (next < rows.size()) {
      deal(static_cast<size_t>(
          std::max_element(missing.begin(), missing.end()) - missing.begin()));
    }
  }
  return part_of;
}

// Deals out groups in random order, each to the part where it brings sizes,
// and the numbers of each label, nearest to their shares.
std::vector<int> SplitGroups(const SplitInput& input,
                             std::vector<double> fractions, uint64_t seed) {
  const size_t num_parts = fractions.size();
  double given = 0;
  for (double fraction : fractions) given += fraction;
  if (given < 1 - 1e-9) fractions.push_back(1.0 - given);
  // Column 0 counts samples, the others those of a label.
  std::map<int64_t, size_t> column_of;
  for (int64_t label : input.labels) column_of.emplace(label, 0);
  size_t num_columns = 1;
  for (auto& [label, column] : column_of) column = num_columns++;
  const auto count = [&](const Rows& rows) {
    std::vector<double> counts(num_columns);
    for (int64_t row : rows) {
      counts[0] += 1;
      if (input.labels.empty()) continue;
      counts[column_of.at(input.labels[static_cast<size_t>(row)])] += 1;
    }
    return counts;
  };
  const std::vector<double> totals = count(AllRows(input.size));
  std::vector<std::vector<double>> missing(fractions.size(), totals);
  for (size_t part = 0; part < fractions.size(); ++part) {
    for (double& value : missing[part]) value *= fractions[part];
  }
  std::vector<Rows> groups;
  for (auto& [group, rows] : RowsByValue(input.groups)) {
    groups.push_back(std::move(rows));
  }
  Random random = DrawsOf(seed, 0);
  random.Shuffle(groups);
  std::vector<int> part_of(static_cast<size_t>(input.size), kNoPart);
  for (const Rows& rows : groups) {
    const std::vector<double> counts = count(rows);
    size_t best = 0;
    double least = INFINITY;
    for (size_t part = 0; part < fractions.size(); ++part) {
      if (fractions[part] <= 0) continue;
      // Growth of the squared distance from the shares.
      double growth = 0;
      for (size_t c = 0; c < num_columns; ++c) {
        if (totals[c] <= 0) continue;
        growth += counts[c] * (counts[c] - 2 * missing[part][c]) / totals[c];
      }
      if (growth < least) {
        least = growth;
        best = part;
      }
    }
    for (size_t c = 0; c < num_columns; ++c) missing[best][c] -= counts[c];
    if (best >= num_parts) continue;
    for (int64_t row : rows) {
      part_of[static_cast<size_t>(row)] = static_cast<int>(best);
    }
  }
  return part_of;
}

std::vector<int> PlainFolds(int64_t size, int64_t folds,
                            std::optional<uint64_t> seed) {
  Rows order = AllRows(size);
  if (seed) {
    Random random = DrawsOf(*seed, 0);
    random.Shuffle(order);
  }
  std::vector<int> fold_of(order.size());
  for (int64_t i = 0, fold = 0, end = 0; fold < folds; ++fold) {
    end += size / folds + (fold < size % folds ? 1 : 0);
    for (; i < end; ++i) {
      fold_of[static_cast<size_t>(order[static_cast<size_t>(i)])] =
          static_cast<int>(fold);
    }
  }
  return fold_of;
}

// scikit-learn's StratifiedKFold: the labels sorted, in the order in which they
// first come, are dealt out to the folds in turn; that says how many of a label
// each fold gets, and its samples go to the folds in runs.
std::vector<int> StratifiedFolds(const std::vector<int64_t>& labels,
                                 int64_t folds, std::optional<uint64_t> seed) {
  std::vector<std::pair<int64_t, Rows>> classes;
  for (auto& [label, rows] : RowsByValue(labels)) {
    classes.emplace_back(label, std::move(rows));
  }
  std::sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.second.front() < b.second.front();
  });
  int64_t most = 0;
  std::vector<int> fold_of(labels.size());
  int64_t dealt = 0;
  for (const auto& [label, rows] : classes) {
    most = std::max(most, static_cast<int64_t>(rows.size()));
    std::vector<int> own;
    for (int64_t fold = 0; fold < folds; ++fold) {
      for (int64_t i = dealt; i < dealt + static_cast<int64_t>(rows.size());
           ++i) {
        if (i % folds == fold) own.push_back(static_cast<int>(fold));
      }
    }
    dealt += static_cast<int64_t>(rows.size());
    if (seed) {
      Random random = DrawsOf(*seed, static_cast<uint64_t>(label));
      random.Shuffle(own);
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      fold_of[static_cast<size_t>(rows[i])] = own[i];
    }
  }
  if (most < folds) {
    throw Error(ErrorKind::kBadSpec,
                "split: no label has " + std::to_string(folds) +
                    " samples, one for each fold; the most common has " +
                    std::to_string(most));
  }
  return fold_of;
}

// scikit-learn's GroupKFold; groups of one size by falling number.
std::vector<int> GroupFolds(const SplitInput& input, int64_t folds,
                            std::optional<uint64_t> seed) {
  std::vector<Rows> groups;
  for (auto& [group, rows] : RowsByValue(input.groups)) {
    groups.push_back(std::move(rows));
  }
  std::reverse(groups.begin(), groups.end());
  if (seed) {
    Random random = DrawsOf(*seed, 0);
    random.Shuffle(groups);
  }
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const Rows& a, const Rows& b) { return a.size() > b.size(); });
  std::vector<size_t> sizes(static_cast<size_t>(folds));
  std::vector<int> fold_of(static_cast<size_t>(input.size));
  for (const Rows& rows : groups) {
    const auto lightest = std::min_element(sizes.begin(), sizes.end());
    for (int64_t row : rows) {
      fold_of[static_cast<size_t>(row)] =
          static_cast<int>(lightest - sizes.begin());
    }
    *lightest += rows.size();
  }
  return fold_of;
}

}  // namespace

std::vector<int> SplitByFractions(const SplitInput& input,
                                  const std::vector<double>& fractions,
                                  uint64_t seed) {
  CheckFractions(fractions);
  if (!input.groups.empty()) return SplitGroups(input, fractions, seed);
  std::vector<std::pair<uint64_t, Rows>> classes;
  if (input.labels.empty()) {
    classes.emplace_back(0, AllRows(input.size));
  } else {
    for (auto& [label, rows] : RowsByValue(input.labels)) {
      classes.emplace_back(static_cast<uint64_t>(label), std::move(rows));
    }
  }
  return SplitClasses(input.size, std::move(classes), fractions, seed);
}

std::vector<int> SplitIntoFolds(const SplitInput& input, int64_t folds,
                                std::optional<uint64_t> seed) {
  int64_t most = input.size;
  if (!input.groups.empty()) {
    most = static_cast<int64_t>(RowsByValue(input.groups).size());
  }
  if (folds < 2 || folds > most) {
    throw Error(ErrorKind::kBadSpec,
                "split: " + std::to_string(folds) + " folds of " +
                    std::to_string(most) +
                    (input.groups.empty() ? " samples" : " groups") +
                    "; 2 or more are accepted, and no more than there are");
  }
  if (input.groups.empty()) {
    return input.labels.empty() ? PlainFolds(input.size, folds, seed)
                                : StratifiedFolds(input.labels, folds, seed);
  }
  if (input.labels.empty()) return GroupFolds(input, folds, seed);
  return SplitGroups(input,
                     std::vector<double>(static_cast<size_t>(folds),
                                         1.0 / static_cast<double>(folds)),
                     seed.value_or(0));
}

}  // namespace epochd::engine
