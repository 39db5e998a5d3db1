// SPDX-License-Identifier: Apache-2.0
//
// Metric: adds up batches, gives values for an epoch. Crossing ranks is
// explicit (loop/score_board.h): what can be added up is summed over ranks,
// what cannot (scores that must be sorted) is collected as rows, and Values()
// is asked of the total, so that each sample counts once. One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/batch.h"

namespace epochd::engine {

// What all ranks have seen.
struct Collected {
  // Both stand for the tensors of one rank, or of all.
  Collected(at::Tensor all_sums, at::Tensor all_rows = {})
      : sums(std::move(all_sums)), rows(std::move(all_rows)) {}

  at::Tensor sums;
  at::Tensor rows;  // in the order of ranks; undefined: none
};

// Numbers that are no curve, such as a confusion matrix.
struct MetricTable {
  std::string name;
  std::string corner;  // what rows and columns are
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  at::Tensor values;  // [rows, columns], double, on the CPU
};

class Metric {
 public:
  virtual ~Metric() = default;

  // Values are named so, or so and what follows a slash.
  virtual const std::string& name() const = 0;
  virtual void Reset() = 0;
  // Reads predictions and targets; no gradient is kept.
  virtual void Update(const Batch& batch) = 0;
  // A 1-D double tensor on the CPU, additive over batches and ranks. Empty
  // where nothing was seen and its size is not known; else of one size on all
  // ranks.
  virtual at::Tensor Sums() const = 0;
  // [n, columns] of float or double on the CPU: what Values() needs of each
  // sample. Undefined: nothing, or nothing was seen. All ranks keep those of
  // all, so rows should be small.
  virtual at::Tensor Rows() const { return {}; }
  // Names and values; NaN where there was nothing.
  virtual std::vector<std::pair<std::string, double>> Values(
      const Collected& all) const = 0;
  virtual std::vector<MetricTable> Tables(const Collected&) const { return {}; }
  virtual bool higher_is_better() const = 0;
  // Why its values may not be what was meant; empty: nothing speaks for it.
  virtual std::string Doubt() const { return {}; }
};

}  // namespace epochd::engine
