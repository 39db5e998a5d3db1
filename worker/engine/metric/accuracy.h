// SPDX-License-Identifier: Apache-2.0
//
// Share of samples whose class is among the k highest scores. Reads class
// scores [B, C, ...] and classes [B, ...] or class probabilities [B, C, ...].
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "worker/engine/loss/fields.h"
#include "worker/engine/metric/mean_metric.h"

namespace epochd::engine {

class TopKAccuracy : public MeanMetric {
 public:
  struct Options {
    ComparedFields fields = {};
    std::string name = "accuracy";
    // 1 is plain accuracy.
    int64_t k = 1;
    // Samples of this class do not count.
    int64_t ignore_index = -100;
    // Field of what counts, as of losses; empty: all.
    std::string mask = {};
  };

  explicit TopKAccuracy(Options options)
      : MeanMetric(options.name), options_(std::move(options)) {}

  // Throws Error(kBadSpec) when there are fewer than k classes.
  void Update(const Batch& batch) override;
  bool higher_is_better() const override { return true; }

 private:
  const Options options_;
};

}  // namespace epochd::engine
