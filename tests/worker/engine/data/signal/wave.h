// SPDX-License-Identifier: Apache-2.0
//
// The signals that tests/golden/record_signals.py was given.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace epochd::engine {

// float64 [leads, size].
inline at::Tensor Wave(int64_t leads, int64_t size) {
  at::Tensor wave = at::empty({leads, size}, at::kDouble);
  auto* out = wave.mutable_data_ptr<double>();
  for (int64_t lead = 0; lead < leads; ++lead) {
    for (int64_t i = 0; i < size; ++i) {
      *out++ = std::sin(0.05 * static_cast<double>((lead + 1) * i)) +
               0.3 * std::cos(0.7 * static_cast<double>(i) +
                              static_cast<double>(lead)) +
               0.25 * static_cast<double>(lead);
    }
  }
  return wave;
}

// Rows of numbers, each within `tolerance`.
inline void ExpectRows(const at::Tensor& tensor, const nlohmann::json& rows,
                       double tolerance) {
  ASSERT_EQ(tensor.dim(), 2);
  ASSERT_EQ(tensor.size(0), static_cast<int64_t>(rows.size()));
  ASSERT_EQ(tensor.size(1), static_cast<int64_t>(rows[0].size()));
  const at::Tensor values = tensor.to(at::kDouble).contiguous();
  const double* at = values.const_data_ptr<double>();
  double worst = 0;
  for (const auto& row : rows) {
    for (const auto& expected : row) {
      worst = std::max(worst, std::abs(*at++ - expected.get<double>()));
    }
  }
  EXPECT_LE(worst, tolerance);
}

}  // namespace epochd::engine
