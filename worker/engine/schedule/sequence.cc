// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/sequence.h"

#include <algorithm>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/schedule/number.h"

namespace epochd::engine {
namespace {

// Of one part of a sequence: what is left of the run behind its begin, or its
// own length.
RunLength LengthOf(const RunLength& whole, ScheduleUnit unit, int64_t begin,
                   std::optional<int64_t> end) {
  const auto cut = [&](std::optional<int64_t> all) -> std::optional<int64_t> {
    if (end.has_value()) return *end - begin;
    if (!all.has_value()) return std::nullopt;
    return std::max<int64_t>(0, *all - begin);
  };
  RunLength part = whole;
  if (unit == ScheduleUnit::kEpoch) part.epochs = cut(whole.epochs);
  if (unit == ScheduleUnit::kBatch) part.batches = cut(whole.batches);
  if (unit == ScheduleUnit::kStep) part.steps = cut(whole.steps);
  return part;
}

}  // namespace

SequenceScheduler::SequenceScheduler(
    std::vector<std::shared_ptr<Scheduler>> schedulers,
    std::vector<int64_t> milestones, const ScheduleOptions& options)
    : schedulers_(std::move(schedulers)),
      milestones_(std::move(milestones)),
      options_(options) {}

void SequenceScheduler::Fit(const RunLength& length) {
  if (options_.convert_to_batches) {
    if (!length.batches_per_epoch.has_value()) {
      throw Error(ErrorKind::kBadSpec,
                  "convert_to_iter_based: the number of batches of an epoch is "
                  "not known; by: iteration is accepted");
    }
    for (int64_t& milestone : milestones_) {
      milestone *= *length.batches_per_epoch;
    }
    options_.unit = ScheduleUnit::kBatch;
    options_.convert_to_batches = false;
    is_stretched_ = true;
  }
  for (size_t i = 0; i < schedulers_.size(); ++i) {
    if (milestones_.empty()) {
      schedulers_[i]->Fit(length);
    } else {
      schedulers_[i]->Fit(
          LengthOf(length, options_.unit, i == 0 ? 0 : milestones_[i - 1],
                   i < milestones_.size() ? std::optional(milestones_[i])
                                          : std::nullopt));
    }
    if (schedulers_[i]->unit() != options_.unit) {
      throw Error(ErrorKind::kBadSpec,
                  "schedulers[" + std::to_string(i) +
                      "].by: not the unit of the whole; the same is accepted");
    }
  }
}

bool SequenceScheduler::follows_run() const {
  return is_stretched_ ||
         std::any_of(schedulers_.begin(), schedulers_.end(),
                     [](const auto& each) { return each->follows_run(); });
}

size_t SequenceScheduler::At(int64_t step) const {
  return static_cast<size_t>(
      std::upper_bound(milestones_.begin(), milestones_.end(), step) -
      milestones_.begin());
}

void SequenceScheduler::Start(Optimizer& optimizer) {
  steps_ = 0;
  if (milestones_.empty()) {
    for (const auto& each : schedulers_) each->Start(optimizer);
  } else {
    schedulers_[At(0)]->Start(optimizer);
  }
}

void SequenceScheduler::Step(Optimizer& optimizer,
                             std::optional<double> monitored) {
  ++steps_;
  if (milestones_.empty()) {
    for (const auto& each : schedulers_) each->Step(optimizer, monitored);
    return;
  }
  const size_t now = At(steps_);
  if (now == At(steps_ - 1)) {
    schedulers_[now]->Step(optimizer, monitored);
    return;
  }
  for (Optimizer::Group& group : optimizer.groups()) {
    ValueOf(options_.setting, group) = InitialOf(options_.setting, group);
  }
  schedulers_[now]->Start(optimizer);
}

void SequenceScheduler::Observe(Optimizer& optimizer, double monitored) {
  if (milestones_.empty()) {
    for (const auto& each : schedulers_) each->Observe(optimizer, monitored);
  } else {
    schedulers_[At(steps_)]->Observe(optimizer, monitored);
  }
}

const Scheduler* SequenceScheduler::WithMetric() const {
  for (const auto& each : schedulers_) {
    if (each->needs_metric()) return each.get();
  }
  return nullptr;
}

bool SequenceScheduler::needs_metric() const { return WithMetric() != nullptr; }

std::string SequenceScheduler::monitor() const {
  return WithMetric() == nullptr ? "" : WithMetric()->monitor();
}

bool SequenceScheduler::is_strict() const {
  return WithMetric() == nullptr || WithMetric()->is_strict();
}

nlohmann::ordered_json SequenceScheduler::State() const {
  auto parts = nlohmann::ordered_json::array();
  for (const auto& each : schedulers_) parts.push_back(each->State());
  return {{"steps", steps_}, {"schedulers", std::move(parts)}};
}

void SequenceScheduler::LoadState(const nlohmann::ordered_json& state) {
  const double steps = ReadStateNumber(state, "steps");
  const auto parts = state.find("schedulers");
  if (parts == state.end() || parts->size() != schedulers_.size()) {
    throw Error(ErrorKind::kBadSpec,
                "scheduler state \"schedulers\": not those of " +
                    std::to_string(schedulers_.size()) + " schedulers");
  }
  steps_ = static_cast<int64_t>(steps);
  for (size_t i = 0; i < schedulers_.size(); ++i) {
    schedulers_[i]->LoadState((*parts)[i]);
  }
}

}  // namespace epochd::engine
