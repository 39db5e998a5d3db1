// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/plateau.h"

#include <algorithm>
#include <limits>

#include "worker/engine/core/error.h"
#include "worker/engine/schedule/number.h"

namespace epochd::engine {

PlateauScheduler::PlateauScheduler(const Options& options) : options_(options) {
  Reset();
}

void PlateauScheduler::Reset() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  best_ = options_.maximize ? -kInfinity : kInfinity;
  num_bad_epochs_ = 0;
  cooldown_left_ = 0;
}

void PlateauScheduler::Start(Optimizer& optimizer) {
  Reset();
  optimizer.set_lr(optimizer.initial_lr());
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
  if (!monitored.has_value()) {
    throw Error(ErrorKind::kBadSpec,
                "lr_scheduler: ReduceOnPlateau without a monitored metric; "
                "monitor.metric must name one that every epoch gives");
  }
  if (IsBetter(*monitored)) {
    best_ = *monitored;
    num_bad_epochs_ = 0;
  } else {
    ++num_bad_epochs_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    num_bad_epochs_ = 0;
  }
  if (num_bad_epochs_ <= options_.patience) return;
  const double lowered =
      std::max(optimizer.lr() * options_.factor, options_.min_lr);
  if (optimizer.lr() - lowered > options_.eps) optimizer.set_lr(lowered);
  cooldown_left_ = options_.cooldown;
  num_bad_epochs_ = 0;
}

nlohmann::ordered_json PlateauScheduler::State() const {
  return {{"best", ToStateNumber(best_)},
          {"num_bad_epochs", num_bad_epochs_},
          {"cooldown_left", cooldown_left_}};
}

void PlateauScheduler::LoadState(const nlohmann::ordered_json& state) {
  const double best = ReadStateNumber(state, "best");
  const double num_bad_epochs = ReadStateNumber(state, "num_bad_epochs");
  const double cooldown_left = ReadStateNumber(state, "cooldown_left");
  best_ = best;
  num_bad_epochs_ = static_cast<int64_t>(num_bad_epochs);
  cooldown_left_ = static_cast<int64_t>(cooldown_left);
}

}  // namespace epochd::engine
