// SPDX-License-Identifier: Apache-2.0
//
// Several schedulers as one: one after another, each from the initial values
// on (torch's SequentialLR, and warm-ups as prefix), or all at once, so that
// their factors multiply (torch's ChainedScheduler). They count in one unit.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine/schedule/windowed.h"

namespace epochd::engine {

class SequenceScheduler : public Scheduler {
 public:
  // Without milestones: all at once. Otherwise one less than schedulers, and
  // scheduler k + 1 takes over at milestones[k]. `options`: setting and unit.
  SequenceScheduler(std::vector<std::shared_ptr<Scheduler>> schedulers,
                    std::vector<int64_t> milestones,
                    const ScheduleOptions& options);

  ScheduleUnit unit() const override { return options_.unit; }
  bool follows_run() const override;
  void Fit(const RunLength& length) override;
  void Start(Optimizer& optimizer) override;
  void Step(Optimizer& optimizer, std::optional<double> monitored) override;
  void Observe(Optimizer& optimizer, double monitored) override;
  bool needs_metric() const override;
  std::string monitor() const override;
  bool is_strict() const override;
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

 private:
  const Scheduler* WithMetric() const;
  // Which of them is at work; all at once: the first.
  size_t At(int64_t step) const;

  const std::vector<std::shared_ptr<Scheduler>> schedulers_;
  std::vector<int64_t> milestones_;
  ScheduleOptions options_;
  bool is_stretched_ = false;
  int64_t steps_ = 0;
};

}  // namespace epochd::engine
