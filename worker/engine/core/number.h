// SPDX-License-Identifier: Apache-2.0
//
// Doubles in JSON, exactly: finite ones as numbers (written with as many
// digits as bring back the same bits), the others, which JSON does not have,
// as "NaN", "Infinity", "-Infinity".
#pragma once

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace epochd::engine {

inline nlohmann::ordered_json FromNumber(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

// NaN also for what is no number.
inline double ToNumber(const nlohmann::ordered_json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "Infinity") return std::numeric_limits<double>::infinity();
  if (json == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace epochd::engine
