// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/schedules.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

[[noreturn]] void RefuseEntry(const std::string& path,
                              const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, path + ": " + problem);
}

std::string NamesOf(const NamedOptimizers& optimizers) {
  std::string names;
  for (const auto& [name, ignored] : optimizers) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

std::string NamesOf(const Scores& scores) {
  std::string names;
  for (const auto& [name, ignored] : scores) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

void Schedules::Bind(const NamedOptimizers& optimizers, const RunLength& length,
                     std::function<void(const std::string&)> warn) {
  warn_ = std::move(warn);
  bound_.clear();
  has_batch_schedulers_ = false;
  for (const Entry& entry : entries_) {
    if (entry.optimizer.empty() && optimizers.size() != 1) {
      RefuseEntry(entry.path,
                  "of which optimizer it is must be said; there are " +
                      NamesOf(optimizers) + " (lr_schedulers.<optimizer>)");
    }
    const auto found = std::find_if(
        optimizers.begin(), optimizers.end(), [&](const auto& each) {
          return entry.optimizer.empty() || each.first == entry.optimizer;
        });
    if (found == optimizers.end()) {
      RefuseEntry(entry.path, "no optimizer is called \"" + entry.optimizer +
                                  "\"; there are " + NamesOf(optimizers));
    }
    for (const Bound& other : bound_) {
      if (other.scheduler == entry.scheduler) {
        RefuseEntry(entry.path,
                    "the same object as " + other.path +
                        "; a scheduler of its own is accepted, as each counts "
                        "its own steps");
      }
    }
    try {
      entry.scheduler->Fit(length);
    } catch (const Error& error) {
      RefuseEntry(entry.path, error.what());
    }
    if (entry.scheduler->unit() != ScheduleUnit::kEpoch) {
      has_batch_schedulers_ = true;
    }
    bound_.push_back({.name = found->first,
                      .optimizer = found->second,
                      .scheduler = entry.scheduler,
                      .path = entry.path});
  }
}

void Schedules::Reset(Optimizer& optimizer) {
  for (Optimizer::Group& group : optimizer.groups()) {
    group.lr = group.initial_lr;
    group.momentum = group.initial_momentum;
  }
}

void Schedules::Start() {
  for (Bound& bound : bound_) Reset(*bound.optimizer);
  for (Bound& bound : bound_) {
    bound.seen_steps = bound.optimizer->num_steps();
    try {
      bound.scheduler->Start(*bound.optimizer);
    } catch (const Error& error) {
      RefuseEntry(bound.path, error.what());
    }
  }
}

void Schedules::AfterBatch() {
  if (!has_batch_schedulers_) return;
  for (Bound& bound : bound_) {
    const ScheduleUnit unit = bound.scheduler->unit();
    if (unit == ScheduleUnit::kBatch) {
      bound.scheduler->Step(*bound.optimizer, std::nullopt);
    } else if (unit == ScheduleUnit::kStep) {
      for (; bound.seen_steps < bound.optimizer->num_steps();
           ++bound.seen_steps) {
        bound.scheduler->Step(*bound.optimizer, std::nullopt);
      }
    }
  }
}

std::optional<double> Schedules::ScoreFor(const Bound& bound,
                                          const EpochScores& epoch) const {
  if (!bound.scheduler->needs_metric()) return std::nullopt;
  const std::string name = bound.scheduler->monitor();
  const double* score = FindScore(epoch.scores, name);
  if (score != nullptr) return *score;
  if (name.empty() && epoch.monitored) return epoch.monitored;
  if (!epoch.is_complete) return std::nullopt;
  const std::string problem =
      (name.empty() ? "the monitored metric" : "\"" + name + "\"") +
      " is not measured; there are " + NamesOf(epoch.scores);
  if (bound.scheduler->is_strict()) {
    RefuseEntry(bound.path + ".monitor", problem);
  }
  if (warn_) warn_(bound.path + ".monitor: " + problem);
  return std::nullopt;
}

void Schedules::AfterEpoch(const EpochScores& epoch) {
  for (Bound& bound : bound_) {
    if (bound.scheduler->unit() != ScheduleUnit::kEpoch) continue;
    bound.scheduler->Step(*bound.optimizer, epoch.is_measured
                                                ? ScoreFor(bound, epoch)
                                                : std::nullopt);
  }
}

void Schedules::AfterValidation(const EpochScores& validation) {
  for (Bound& bound : bound_) {
    if (bound.scheduler->unit() != ScheduleUnit::kEpoch) continue;
    if (const auto value = ScoreFor(bound, validation)) {
      bound.scheduler->Observe(*bound.optimizer, *value);
    }
  }
}

nlohmann::ordered_json Schedules::State() const {
  auto states = nlohmann::ordered_json::array();
  for (const Bound& bound : bound_) {
    states.push_back(bound.scheduler->State());
  }
  return states;
}

void Schedules::LoadState(const nlohmann::ordered_json& state,
                          const std::vector<std::string>& fresh,
                          const std::optional<Passed>& passed) {
  if (state.size() != bound_.size()) {
    throw Error(ErrorKind::kInfrastructure, "checkpoint: has " +
                                                std::to_string(state.size()) +
                                                " schedulers, the experiment " +
                                                std::to_string(bound_.size()));
  }
  std::set<std::string> anew(fresh.begin(), fresh.end());
  std::vector<std::optional<int64_t>> moved(bound_.size());
  if (passed) {
    for (size_t i = 0; i < bound_.size(); ++i) {
      const Bound& bound = bound_[i];
      if (!bound.scheduler->follows_run() || bound.scheduler->needs_metric() ||
          std::any_of(
              bound_.begin(), bound_.end(), [&bound](const Bound& each) {
                return each.name == bound.name && !each.scheduler->can_redo();
              })) {
        continue;
      }
      const auto saved = state[i].value("steps", int64_t{0});
      switch (bound.scheduler->unit()) {
        case ScheduleUnit::kEpoch:
          moved[i] = passed->epochs.value_or(saved);
          break;
        case ScheduleUnit::kBatch:
          moved[i] = passed->batches.value_or(saved);
          break;
        case ScheduleUnit::kStep:
          moved[i] = std::llround(static_cast<double>(saved) *
                                  passed->step_share.value_or(1.0));
          break;
      }
      anew.insert(bound.name);
    }
  }
  for (Bound& bound : bound_) {
    if (anew.contains(bound.name)) Reset(*bound.optimizer);
  }
  for (size_t i = 0; i < bound_.size(); ++i) {
    Bound& bound = bound_[i];
    if (anew.contains(bound.name)) {
      bound.scheduler->Start(*bound.optimizer);
      const int64_t steps =
          moved[i].value_or(state[i].value("steps", int64_t{0}));
      for (int64_t step = 0; step < steps && !bound.scheduler->needs_metric();
           ++step) {
        bound.scheduler->Step(*bound.optimizer, std::nullopt);
      }
    }
    if (!moved[i]) bound.scheduler->LoadState(state[i]);
    bound.seen_steps = bound.optimizer->num_steps();
  }
  for (Bound& bound : bound_) {
    if (anew.contains(bound.name)) bound.scheduler->Redo(*bound.optimizer);
  }
}

}  // namespace epochd::engine
