// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/precision.h"

#include <ATen/autocast_mode.h>

#include "worker/engine/core/error.h"

namespace epochd::engine {

Precision ParsePrecision(const std::string& text, const std::string& path) {
  if (text == "fp32" || text == "float32") return Precision::kFloat32;
  if (text == "bf16" || text == "bfloat16") return Precision::kBFloat16;
  if (text == "fp16" || text == "float16") return Precision::kFloat16;
  throw Error(ErrorKind::kBadSpec, path + ": no such precision: \"" + text +
                                       "\"; fp32, bf16 and fp16 are accepted");
}

AutocastGuard::AutocastGuard(Precision precision, c10::DeviceType device)
    : active_(precision != Precision::kFloat32),
      device_(device),
      was_enabled_(at::autocast::is_autocast_enabled(device)) {
  if (!active_) return;
  at::autocast::set_autocast_dtype(
      device_, precision == Precision::kFloat16 ? at::kHalf : at::kBFloat16);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (!active_) return;
  // Weights cast for this pass are stale after the optimizer's step.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
}

NoAutocastGuard::NoAutocastGuard(c10::DeviceType device)
    : device_(device), was_enabled_(at::autocast::is_autocast_enabled(device)) {
  at::autocast::set_autocast_enabled(device_, false);
}

NoAutocastGuard::~NoAutocastGuard() {
  if (!was_enabled_) return;
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, true);
}

}  // namespace epochd::engine
