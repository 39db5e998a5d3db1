// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/grad_scaler.h"

#include <cmath>

#include "worker/engine/core/number.h"

namespace epochd::engine {

void GradScaler::Update(bool found_non_finite) {
  if (found_non_finite) {
    scale_ = static_cast<float>(scale_ * options_.backoff_factor);
    growth_tracker_ = 0;
    return;
  }
  if (++growth_tracker_ < options_.growth_interval) return;
  const auto grown = static_cast<float>(scale_ * options_.growth_factor);
  if (std::isfinite(grown)) scale_ = grown;
  growth_tracker_ = 0;
}

nlohmann::ordered_json GradScaler::State() const {
  return {{"scale", FromNumber(scale_)}, {"growth_tracker", growth_tracker_}};
}

void GradScaler::LoadState(const nlohmann::ordered_json& state) {
  scale_ = static_cast<float>(ToNumber(state.at("scale")));
  growth_tracker_ = state.at("growth_tracker").get<int64_t>();
}

}  // namespace epochd::engine
