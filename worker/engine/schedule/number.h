// SPDX-License-Identifier: Apache-2.0
//
// Doubles in the state of a scheduler, bit for bit: JSON has no infinities,
// so these and NaN are strings. Pure functions, any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace epochd::engine {

nlohmann::ordered_json ToStateNumber(double value);

// Reads the number `name` of a scheduler's state. Throws Error(kBadSpec)
// naming it when it is not there or no number.
double ReadStateNumber(const nlohmann::ordered_json& state,
                       std::string_view name);

}  // namespace epochd::engine
