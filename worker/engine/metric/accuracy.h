// SPDX-License-Identifier: Apache-2.0
//
// Share of samples whose class is among the k highest scores. Reads class
// scores [B, C, ...] and classes [B, ...] or class probabilities [B, C, ...].
// Counts stay on the device of the scores until Sums() is asked.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/metric.h"
#include "worker/engine/loss/fields.h"

namespace epochd::engine {

class TopKAccuracy : public Metric {
 public:
  struct Options {
    ComparedFields fields = {};
    std::string name = "accuracy";
    // 1 is plain accuracy.
    int64_t k = 1;
  };

  explicit TopKAccuracy(Options options) : options_(std::move(options)) {}

  void Reset() override;
  // Throws Error(kBadSpec) when there are fewer than k classes.
  void Update(const Batch& batch) override;
  at::Tensor Sums() const override;
  std::vector<std::pair<std::string, double>> Values(
      const at::Tensor& sums) const override;
  bool higher_is_better() const override { return true; }

 private:
  Options options_;
  at::Tensor hits_;  // undefined: none yet
  int64_t count_ = 0;
};

}  // namespace epochd::engine
