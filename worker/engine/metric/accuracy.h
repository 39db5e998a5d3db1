// SPDX-License-Identifier: Apache-2.0
//
// Share of samples whose class is among the k highest scores. Reads class
// scores [B, C, ...] and classes [B, ...] or class probabilities [B, C, ...].
// With one score, [B, 1, ...] or [B], and k 1, the share of labels that are
// right, as of LabelAccuracy.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "worker/engine/loss/fields.h"
#include "worker/engine/loss/weighing.h"
#include "worker/engine/metric/labels.h"
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
    Weighing weighing = {};
    // Asked of one score only: order is the same.
    bool from_logits = true;
  };

  explicit TopKAccuracy(Options options)
      : MeanMetric(options.name), options_(std::move(options)) {}

  // Throws Error(kBadSpec) when there are fewer than k classes.
  void Update(const Batch& batch) override;
  bool higher_is_better() const override { return true; }
  std::string Doubt() const override { return watch_.Doubt(); }

 private:
  void UpdateLabels(const Batch& batch);

  const Options options_;
  LogitWatch watch_;
};

}  // namespace epochd::engine
