// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/plateau.h"

#include <algorithm>
#include <limits>

#include "worker/engine/schedule/number.h"

namespace epochd::engine {

PlateauScheduler::PlateauScheduler(const Options& options) : options_(options) {
  Reset();
}

void PlateauScheduler::Reset() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  best_ = options_.maximize ? -kInfinity : kInfinity;
  steps_ = 0;
  num_bad_epochs_ = 0;
  cooldown_left_ = 0;
  reductions_ = 0;
}

void PlateauScheduler::Lower(Optimizer& optimizer) const {
  for (Optimizer::Group& group : optimizer.groups()) {
    double& value = ValueOf(options_.setting, group);
    const double lowered = std::max(value * options_.factor, options_.least);
    if (value - lowered > options_.eps) value = lowered;
  }
}

void PlateauScheduler::Redo(Optimizer& optimizer) {
  for (int64_t i = 0; i < reductions_; ++i) Lower(optimizer);
}

void PlateauScheduler::Start(Optimizer& optimizer) {
  RequireSetting(options_.setting, optimizer);
  Reset();
}

bool PlateauScheduler::IsBetter(double value) const {
  const double threshold = options_.threshold;
  if (options_.absolute_threshold) {
    return options_.maximize ? value > best_ + threshold
                             : value < best_ - threshold;
  }
  return options_.maximize ? value > best_ * (threshold + 1.0)
                           : value < best_ * (1.0 - threshold);
}

void PlateauScheduler::Step(Optimizer& optimizer,
                            std::optional<double> monitored) {
  ++steps_;
  if (monitored.has_value()) Observe(optimizer, *monitored);
}

void PlateauScheduler::Observe(Optimizer& optimizer, double monitored) {
  if (steps_ < options_.begin) return;
  if (options_.end.has_value() && steps_ >= *options_.end) return;
  if (IsBetter(monitored)) {
    best_ = monitored;
    num_bad_epochs_ = 0;
  } else {
    ++num_bad_epochs_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    num_bad_epochs_ = 0;
  }
  if (num_bad_epochs_ <= options_.patience) return;
  Lower(optimizer);
  ++reductions_;
  cooldown_left_ = options_.cooldown;
  num_bad_epochs_ = 0;
}

nlohmann::ordered_json PlateauScheduler::State() const {
  return {{"steps", steps_},
          {"best", ToStateNumber(best_)},
          {"num_bad_epochs", num_bad_epochs_},
          {"cooldown_left", cooldown_left_},
          {"reductions", reductions_}};
}

void PlateauScheduler::LoadState(const nlohmann::ordered_json& state) {
  const double steps = ReadStateNumber(state, "steps");
  const double best = ReadStateNumber(state, "best");
  const double num_bad_epochs = ReadStateNumber(state, "num_bad_epochs");
  const double cooldown_left = ReadStateNumber(state, "cooldown_left");
  steps_ = static_cast<int64_t>(steps);
  best_ = best;
  num_bad_epochs_ = static_cast<int64_t>(num_bad_epochs);
  cooldown_left_ = static_cast<int64_t>(cooldown_left);
  reductions_ = state.value("reductions", int64_t{0});
}

}  // namespace epochd::engine
