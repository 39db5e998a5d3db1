// SPDX-License-Identifier: Apache-2.0
//
// GradScaler: the factor by which a loss is multiplied in fp16, so that small
// gradients do not vanish. torch.amp.GradScaler's rule: a step whose gradients
// are not finite is left out and the scale multiplied by `backoff_factor`;
// after `growth_interval` steps without that it is multiplied by
// `growth_factor`, unless that is more than a float holds. A plain value.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace epochd::engine {

class GradScaler {
 public:
  struct Options {
    double init_scale = 65536.0;
    double growth_factor = 2.0;
    double backoff_factor = 0.5;
    int64_t growth_interval = 2000;
  };

  explicit GradScaler(const Options& options)
      : options_(options), scale_(static_cast<float>(options.init_scale)) {}

  float scale() const { return scale_; }
  // 1 / scale, rounded as torch rounds it.
  float inverse() const {
    return static_cast<float>(1.0 / static_cast<double>(scale_));
  }
  // After each step, done or left out.
  void Update(bool found_non_finite);

  nlohmann::ordered_json State() const;
  void LoadState(const nlohmann::ordered_json& state);

 private:
  Options options_;
  float scale_;
  int64_t growth_tracker_ = 0;  // steps since the scale last changed
};

}  // namespace epochd::engine
