// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/windowed.h"

#include "worker/engine/core/error.h"
#include "worker/engine/schedule/number.h"

namespace epochd::engine {
namespace {

std::optional<int64_t> LengthIn(ScheduleUnit unit, const RunLength& length) {
  switch (unit) {
    case ScheduleUnit::kEpoch:
      return length.epochs;
    case ScheduleUnit::kBatch:
      return length.batches;
    case ScheduleUnit::kStep:
      return length.steps;
  }
  return std::nullopt;
}

}  // namespace

double& ValueOf(Setting setting, Optimizer::Group& group) {
  return setting == Setting::kLr ? group.lr : group.momentum;
}

double InitialOf(Setting setting, const Optimizer::Group& group) {
  return setting == Setting::kLr ? group.initial_lr : group.initial_momentum;
}

void RequireSetting(Setting setting, const Optimizer& optimizer) {
  if (setting == Setting::kMomentum && !optimizer.has_momentum()) {
    throw Error(ErrorKind::kBadSpec,
                "changes the momentum, and this optimizer has none; SGD and "
                "RMSprop with a momentum, Lion, Adam and its kin are accepted");
  }
}

int64_t RequireLength(std::optional<int64_t> length,
                      const std::string& parameter) {
  if (length.has_value()) return *length;
  throw Error(ErrorKind::kBadSpec,
              parameter +
                  ": missing, and the length of the run is not known; a number "
                  "of units, or an end, is accepted");
}

void WindowedScheduler::Fit(const RunLength& length) {
  if (options_.convert_to_batches) {
    if (!length.batches_per_epoch.has_value()) {
      throw Error(ErrorKind::kBadSpec,
                  "convert_to_iter_based: the number of batches of an epoch is "
                  "not known; by: iteration is accepted");
    }
    const int64_t times = *length.batches_per_epoch;
    options_.begin *= times;
    if (options_.end.has_value()) *options_.end *= times;
    options_.unit = ScheduleUnit::kBatch;
    options_.convert_to_batches = false;
    follows_run_ = true;
    Stretch(times);
  }
  const std::optional<int64_t> end =
      options_.end.has_value() ? options_.end : LengthIn(options_.unit, length);
  bool goes_by_length = false;
  if (!end.has_value()) {
    SetLength(std::nullopt);
  } else if (*end > options_.begin) {
    goes_by_length = SetLength(*end - options_.begin);
  }
  follows_run_ |= goes_by_length && !options_.end.has_value();
}

void WindowedScheduler::Start(Optimizer& optimizer) {
  RequireSetting(options_.setting, optimizer);
  steps_ = 0;
  ApplyIfWithin(optimizer);
}

void WindowedScheduler::Step(Optimizer& optimizer,
                             std::optional<double> /*monitored*/) {
  ++steps_;
  ApplyIfWithin(optimizer);
}

void WindowedScheduler::ApplyIfWithin(Optimizer& optimizer) {
  if (steps_ < options_.begin) return;
  if (options_.end.has_value() && steps_ >= *options_.end) return;
  Apply(optimizer, steps_ - options_.begin);
}

void WindowedScheduler::Apply(Optimizer& optimizer, int64_t t) {
  for (Optimizer::Group& group : optimizer.groups()) {
    double& value = ValueOf(options_.setting, group);
    const double initial = InitialOf(options_.setting, group);
    value = t == 0 ? First(value, initial) : Next(value, t, initial);
  }
}

nlohmann::ordered_json WindowedScheduler::State() const {
  return {{"steps", steps_}};
}

void WindowedScheduler::LoadState(const nlohmann::ordered_json& state) {
  steps_ = static_cast<int64_t>(ReadStateNumber(state, "steps"));
}

}  // namespace epochd::engine
