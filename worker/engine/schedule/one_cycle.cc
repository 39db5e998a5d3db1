// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/one_cycle.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "worker/engine/core/error.h"

namespace epochd::engine {

double OneCycleScheduler::Between(double start, double end,
                                  double share) const {
  if (cycle_.is_linear) return (end - start) * share + start;
  return end + (start - end) / 2.0 * (std::cos(std::numbers::pi * share) + 1);
}

std::vector<OneCycleScheduler::Phase> OneCycleScheduler::PhasesFor(
    double max_lr) const {
  const auto total = static_cast<double>(*cycle_.total);
  const double first_lr = max_lr / cycle_.div_factor;
  const double last_lr = first_lr / cycle_.final_div_factor;
  const double low = cycle_.base_momentum;
  const double high = cycle_.max_momentum;
  std::vector<Phase> phases{
      {cycle_.pct_start * total - 1, first_lr, max_lr, high, low}};
  if (cycle_.three_phase) {
    phases.push_back(
        {2 * cycle_.pct_start * total - 2, max_lr, first_lr, low, high});
    phases.push_back({total - 1, first_lr, last_lr, high, high});
  } else {
    phases.push_back({total - 1, max_lr, last_lr, low, high});
  }
  return phases;
}

void OneCycleScheduler::Apply(Optimizer& optimizer, int64_t t) {
  // A run that goes on with other groups of batches may end a few later.
  if (is_of_run_) t = std::min(t, *cycle_.total - 1);
  if (t > *cycle_.total) {
    throw Error(ErrorKind::kBadSpec,
                "OneCycle: step " + std::to_string(t) +
                    " of a cycle of total_steps " +
                    std::to_string(*cycle_.total) +
                    "; a run that is no longer is accepted");
  }
  std::vector<Optimizer::Group>& groups = optimizer.groups();
  if (cycle_.max_lr.size() != 1 && cycle_.max_lr.size() != groups.size()) {
    throw Error(ErrorKind::kBadSpec,
                "max_lr: " + std::to_string(cycle_.max_lr.size()) +
                    " values; one, or one for each of " +
                    std::to_string(groups.size()) + " groups, is accepted");
  }
  const bool cycle_momentum =
      cycle_.cycle_momentum.value_or(optimizer.has_momentum());
  if (cycle_momentum) RequireSetting(Setting::kMomentum, optimizer);
  const auto step = static_cast<double>(t);
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::vector<Phase> phases =
        PhasesFor(cycle_.max_lr[cycle_.max_lr.size() == 1 ? 0 : g]);
    double start = 0.0;
    size_t i = 0;
    while (i + 1 < phases.size() && step > phases[i].end) {
      start = phases[i++].end;
    }
    const Phase& phase = phases[i];
    const double share = (step - start) / (phase.end - start);
    groups[g].lr = Between(phase.start_lr, phase.end_lr, share);
    if (cycle_momentum) {
      groups[g].momentum =
          Between(phase.start_momentum, phase.end_momentum, share);
    }
  }
}

void OneCycleScheduler::Stretch(int64_t times) {
  if (cycle_.total.has_value()) *cycle_.total *= times;
}

bool OneCycleScheduler::SetLength(std::optional<int64_t> length) {
  if (!cycle_.total.has_value()) {
    cycle_.total = RequireLength(length, "total_steps");
    is_of_run_ = true;
    return true;
  }
  if (length.has_value() && *length > *cycle_.total) {
    throw Error(ErrorKind::kBadSpec,
                "total_steps: " + std::to_string(*cycle_.total) +
                    ", and the run has " + std::to_string(*length) +
                    "; at least that many, or an end, is accepted");
  }
  return false;
}

}  // namespace epochd::engine
