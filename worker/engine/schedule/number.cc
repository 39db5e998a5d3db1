// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/number.h"

#include <cmath>
#include <limits>
#include <string>

#include "worker/engine/core/error.h"

namespace epochd::engine {

nlohmann::ordered_json ToStateNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

double ReadStateNumber(const nlohmann::ordered_json& state,
                       std::string_view name) {
  const auto found = state.find(name);
  if (found != state.end()) {
    if (found->is_number()) return found->get<double>();
    if (*found == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*found == "Infinity") return std::numeric_limits<double>::infinity();
    if (*found == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  throw Error(ErrorKind::kBadSpec,
              "scheduler state \"" + std::string(name) + "\": " +
                  (found == state.end() ? "not there" : found->dump()) +
                  "; a number is accepted");
}

}  // namespace epochd::engine
