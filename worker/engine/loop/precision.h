// SPDX-License-Identifier: Apache-2.0
//
// Precision of the forward pass: fp32, or bf16 or fp16 by autocast (weights and
// sums stay float, integers stay integers). fp16 needs a scaled loss
// (loop/grad_scaler.h). One thread: autocast is a setting of the thread.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace epochd::engine {

enum class Precision { kFloat32, kBFloat16, kFloat16 };

// "fp32", "float32", "bf16", "bfloat16", "fp16", "float16"; throws
// Error(kBadSpec) naming `path`.
Precision ParsePrecision(const std::string& text, const std::string& path);

// Autocasts while it lives, when the precision wants it. May stand within
// another, or within a NoAutocastGuard.
class AutocastGuard {
 public:
  AutocastGuard(Precision precision, c10::DeviceType device);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  const bool active_;
  const c10::DeviceType device_;
  const bool was_enabled_;
};

// Nothing is autocast while it lives; after it weights are cast anew, as they
// may have changed.
class NoAutocastGuard {
 public:
  explicit NoAutocastGuard(c10::DeviceType device);
  ~NoAutocastGuard();
  NoAutocastGuard(const NoAutocastGuard&) = delete;
  NoAutocastGuard& operator=(const NoAutocastGuard&) = delete;

 private:
  const c10::DeviceType device_;
  const bool was_enabled_;
};

}  // namespace epochd::engine
