// SPDX-License-Identifier: Apache-2.0
//
// Tally: counts of what was predicted and what was true, or sums of weights,
// which metrics of decisions are made of. Additive over batches and ranks, and
// kept on the device of the scores until it is asked.
//
//   classes  a matrix [C, C]: rows are true, columns predicted classes
//   labels   [L, 4]: true positives, false positives, false negatives, true
//            negatives of each label
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "worker/engine/metric/labels.h"

namespace epochd::engine {

// One class against the others.
struct ClassCounts {
  double true_positives = 0;
  double false_positives = 0;
  double false_negatives = 0;
  double true_negatives = 0;

  double support() const { return true_positives + false_negatives; }
};

class Tally {
 public:
  void Reset() { counts_.reset(); }
  // The class with the highest score is predicted; labels by the threshold.
  // Where a score is NaN, so are all counts.
  // Throws Error(kTraining) where batches have different numbers of classes.
  void Add(const LabelledScores& read, double threshold, bool from_logits);
  // [kind, counts...]; empty: nothing was seen.
  at::Tensor Sums() const;

  // What sums say.
  struct View {
    bool has_classes = false;
    at::Tensor matrix;  // undefined: nothing was seen
    int64_t classes() const { return matrix.defined() ? matrix.size(0) : 0; }
    std::vector<ClassCounts> ByClass() const;
  };
  static View Read(const at::Tensor& sums);

 private:
  bool has_classes_ = false;
  at::Tensor counts_;
};

}  // namespace epochd::engine
