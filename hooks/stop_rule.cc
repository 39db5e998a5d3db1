// SPDX-License-Identifier: Apache-2.0
#include "hooks/stop_rule.h"

#include <algorithm>

#include "worker/engine/core/number.h"

namespace epochd::hooks {

const std::vector<std::string>& StopRule::Names() {
  static const std::vector<std::string> names = {
      "srforge", "torch_ecg", "mmengine", "phijax", "lightning", "keras"};
  return names;
}

StopRule::Kind StopRule::KindOf(const std::string& name) {
  const auto& names = Names();
  const auto found = std::find(names.begin(), names.end(), name);
  return static_cast<Kind>(found - names.begin());
}

bool StopRule::ChecksFinite(Kind kind) {
  return kind == Kind::kMmEngine || kind == Kind::kLightning;
}

double StopRule::MinDelta(Kind kind) {
  return kind == Kind::kMmEngine ? 0.1 : 0.0;
}

bool StopRule::IsBetter(double value, double than) const {
  if (std::isnan(value)) return false;
  if (std::isnan(than)) return true;
  return options_.higher_is_better ? value > than : value < than;
}

bool StopRule::Observe(double value) {
  const int64_t index = seen_++;
  reason_.clear();
  if (options_.check_finite && !std::isfinite(value)) {
    reason_ = "is not finite";
    return true;
  }
  if (options_.threshold && IsBetter(value, *options_.threshold)) {
    best_ = value;
    reason_ = "reached its threshold";
    return true;
  }
  bool stops = false;
  switch (options_.kind) {
    case Kind::kSrForge:
      stops = ObserveWindow(value);
      break;
    case Kind::kTorchEcg:
      stops = ObserveTolerance(value);
      break;
    default:
      stops = ObserveWait(value);
  }
  // Keras never stops at its first value.
  if (options_.kind == Kind::kKeras && index == 0) stops = false;
  if (stops) {
    reason_ = "did not improve within " + std::to_string(options_.patience) +
              (options_.patience == 1 ? " check" : " checks");
  }
  return stops;
}

bool StopRule::ObserveWindow(double value) {
  if (IsBetter(value, best_)) best_ = value;
  window_.push_back(value);
  const auto size =
      static_cast<size_t>(std::max<int64_t>(options_.patience, 1));
  if (window_.size() > size) window_.pop_front();
  if (window_.size() < size) return false;
  for (size_t i = 1; i < window_.size(); ++i) {
    const double gain = options_.higher_is_better
                            ? window_[i] - window_.front()
                            : window_.front() - window_[i];
    if (gain > options_.min_delta) return false;
  }
  return true;
}

bool StopRule::ObserveTolerance(double value) {
  const int64_t index = seen_ - 1;
  if (IsBetter(value, best_)) {
    best_ = value;
    last_good_ = index;
    return false;
  }
  const double worst = Improved(best_, -options_.min_delta);
  if (value == worst || IsBetter(value, worst)) {
    last_good_ = index;
    return false;
  }
  return index - last_good_ >= options_.patience;
}

bool StopRule::ObserveWait(double value) {
  const bool is_first = seen_ == 1;
  const bool is_better =
      std::isnan(best_)
          ? !std::isnan(value)
          : IsBetter(value, Improved(best_, options_.min_delta)) ||
                // Reaching the gain exactly is enough for MMEngine.
                (options_.kind == Kind::kMmEngine &&
                 value == Improved(best_, options_.min_delta));
  if (is_better) {
    best_ = value;
    const bool starts_again =
        !options_.baseline ||
        IsBetter(value, Improved(*options_.baseline, options_.min_delta));
    waited_ = starts_again ? 0 : waited_ + 1;
    return false;
  }
  // PhiJAX takes its first value as it is.
  if (options_.kind == Kind::kPhiJax) {
    if (!is_first) ++waited_;
    return waited_ > options_.patience;
  }
  ++waited_;
  return waited_ >= options_.patience;
}

nlohmann::ordered_json StopRule::State() const {
  nlohmann::ordered_json window = nlohmann::ordered_json::array();
  for (double value : window_) window.push_back(engine::FromNumber(value));
  return {{"rule", Names()[static_cast<size_t>(options_.kind)]},
          {"best", engine::FromNumber(best_)},
          {"seen", seen_},
          {"waited", waited_},
          {"last_good", last_good_},
          {"window", window}};
}

void StopRule::LoadState(const nlohmann::ordered_json& state) {
  // Counts of another rule mean something else.
  if (state.value("rule", "") != Names()[static_cast<size_t>(options_.kind)]) {
    return;
  }
  best_ = engine::ToNumber(state.at("best"));
  seen_ = state.at("seen").get<int64_t>();
  waited_ = state.at("waited").get<int64_t>();
  last_good_ = state.at("last_good").get<int64_t>();
  window_.clear();
  for (const auto& value : state.at("window")) {
    window_.push_back(engine::ToNumber(value));
  }
}

}  // namespace epochd::hooks
