// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/cyclic.h"

#include <cmath>

namespace epochd::engine {

void CyclicScheduler::Apply(Optimizer& optimizer, int64_t t) {
  const auto up = static_cast<double>(cycle_.step_size_up);
  const auto down =
      static_cast<double>(cycle_.step_size_down.value_or(cycle_.step_size_up));
  const double turn = up / (up + down);
  const double passed = static_cast<double>(t) / (up + down);
  const double cycle = std::floor(1 + passed);
  const double x = 1.0 + passed - cycle;
  const double share = x <= turn ? x / turn : (x - 1) / (turn - 1);
  double scale = 1.0;
  if (cycle_.mode == Mode::kTriangular2) {
    scale = 1 / std::pow(2.0, cycle - 1);
  } else if (cycle_.mode == Mode::kExpRange) {
    scale = std::pow(cycle_.gamma, static_cast<double>(t));
  }
  const bool cycle_momentum =
      cycle_.cycle_momentum.value_or(optimizer.has_momentum());
  if (cycle_momentum) RequireSetting(Setting::kMomentum, optimizer);
  for (Optimizer::Group& group : optimizer.groups()) {
    const double height = (cycle_.max_lr - cycle_.base_lr) * share;
    group.lr = cycle_.base_lr + height * scale;
    if (!cycle_momentum) continue;
    const double depth = (cycle_.max_momentum - cycle_.base_momentum) * share;
    group.momentum = cycle_.max_momentum - depth * scale;
  }
}

void CyclicScheduler::Stretch(int64_t times) {
  cycle_.step_size_up *= times;
  if (cycle_.step_size_down.has_value()) *cycle_.step_size_down *= times;
}

}  // namespace epochd::engine
