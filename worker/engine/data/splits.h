// SPDX-License-Identifier: Apache-2.0
//
// Splits: which part of a whole each sample belongs to. Pure functions of
// labels, groups and a seed; the same on every machine. All return one number
// per sample: its part or fold, from 0, or kNoPart.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace epochd::engine {

inline constexpr int kNoPart = -1;

struct SplitInput {
  int64_t size = 0;
  // By sample; empty: not to be looked at.
  std::vector<int64_t> labels = {};  // each part gets each label's share
  std::vector<int64_t> groups = {};  // no group is in two parts
};

// Drawn by `seed`, part p with about size * fractions[p] samples: within one
// sample, or one group. A sum below 1 leaves samples in no part. Throws
// Error(kBadSpec): fractions are not in [0, 1] or add up to more than 1.
std::vector<int> SplitByFractions(const SplitInput& input,
                                  const std::vector<double>& fractions,
                                  uint64_t seed);

// `folds` parts of like size. Without a seed as scikit-learn does without
// shuffling: KFold (runs of samples), StratifiedKFold with labels, GroupKFold
// with groups (greatest group first into the smallest fold); with a seed
// samples, or groups of one size, are shuffled first. Labels and groups
// together: as SplitByFractions, seed 0 by default. Throws Error(kBadSpec)
// when a fold would be empty, or no label has a sample for each fold.
std::vector<int> SplitIntoFolds(const SplitInput& input, int64_t folds,
                                std::optional<uint64_t> seed);

}  // namespace epochd::engine
