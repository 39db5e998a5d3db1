// SPDX-License-Identifier: Apache-2.0
//
// WindowedScheduler: what schedulers share that follow the count of their
// steps: which setting they change, in which unit they count, and in which
// window. A value changes at steps begin <= n < end only, where t = n - begin
// counts from 0; afterwards the last one stays.
//
//   begin 3, end 6   values of units 0..2 are as before, t = 0, 1, 2 for units
//                    3..5, and unit 6 has what unit 5 had
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "worker/engine/core/scheduler.h"

namespace epochd::engine {

enum class Setting { kLr, kMomentum };

// The setting of a group, and what it was built with.
double& ValueOf(Setting setting, Optimizer::Group& group);
double InitialOf(Setting setting, const Optimizer::Group& group);
// Throws Error(kBadSpec) when the optimizer has no such setting.
void RequireSetting(Setting setting, const Optimizer& optimizer);

// `length`, or throws Error(kBadSpec): it is not known, so `parameter` must be
// given.
int64_t RequireLength(std::optional<int64_t> length,
                      const std::string& parameter);

struct ScheduleOptions {
  Setting setting = Setting::kLr;
  ScheduleUnit unit = ScheduleUnit::kEpoch;
  int64_t begin = 0;
  // Nothing: to the end of the run, and beyond when it is made longer.
  std::optional<int64_t> end{};
  // Lengths are given in epochs, and the steps are batches.
  bool convert_to_batches = false;
};

class WindowedScheduler : public Scheduler {
 public:
  ScheduleUnit unit() const final { return options_.unit; }
  bool follows_run() const final { return follows_run_; }
  void Fit(const RunLength& length) final;
  void Start(Optimizer& optimizer) final;
  void Step(Optimizer& optimizer, std::optional<double> monitored) final;
  nlohmann::ordered_json State() const final;
  void LoadState(const nlohmann::ordered_json& state) final;

 protected:
  explicit WindowedScheduler(const ScheduleOptions& options)
      : options_(options) {}

  // Value at t = 0, from that of the unit before (or of the start).
  virtual double First(double value, double /*initial*/) const { return value; }
  // Value at t >= 1.
  virtual double Next(double value, int64_t t, double initial) const = 0;
  // Called by Fit(): lengths in the units of the job file are to be multiplied.
  virtual void Stretch(int64_t /*times*/) {}
  // Called by Fit(): how many units the window has; nothing: not known. Tells
  // whether that is what it goes by. Throws Error(kBadSpec) when that is
  // needed.
  virtual bool SetLength(std::optional<int64_t> /*length*/) { return false; }
  // Instead of First() and Next() where they are not enough; t from 0.
  virtual void Apply(Optimizer& optimizer, int64_t t);

  Setting setting() const { return options_.setting; }

 private:
  void ApplyIfWithin(Optimizer& optimizer);

  ScheduleOptions options_;
  bool follows_run_ = false;
  int64_t steps_ = 0;
};

}  // namespace epochd::engine
