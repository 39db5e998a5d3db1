// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/piecewise.h"

#include <algorithm>

namespace epochd::engine {

void PiecewiseScheduler::Apply(Optimizer& optimizer, int64_t t) {
  const std::vector<int64_t>& milestones = table_.milestones;
  const auto next = std::upper_bound(milestones.begin(), milestones.end(), t);
  double value = table_.values.front();
  if (next != milestones.begin()) {
    const auto k = static_cast<size_t>(next - milestones.begin()) - 1;
    value = table_.values[k];
    if (table_.is_linear && next != milestones.end()) {
      const double share = static_cast<double>(t - milestones[k]) /
                           static_cast<double>(*next - milestones[k]);
      value += (table_.values[k + 1] - value) * share;
    }
  }
  const double first = InitialOf(setting(), optimizer.groups().front());
  for (Optimizer::Group& group : optimizer.groups()) {
    const double initial = InitialOf(setting(), group);
    if (table_.are_factors) {
      ValueOf(setting(), group) = initial * value;
    } else {
      ValueOf(setting(), group) =
          initial == first ? value : value * (initial / first);
    }
  }
}

void PiecewiseScheduler::Stretch(int64_t times) {
  for (int64_t& milestone : table_.milestones) milestone *= times;
}

}  // namespace epochd::engine
