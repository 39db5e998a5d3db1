// SPDX-License-Identifier: Apache-2.0
//
// How variables of a differential equation are named: a coordinate (`x`), an
// unknown (`u`), or an unknown's derivative: `u_x`, `u_xx`, `u_tx`, letters or,
// where coordinates have longer names, those names one after the other. Pure
// functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epochd::expression {

inline constexpr size_t kMaxDerivativeOrder = 4;

// Indices into the unknowns and, rising, the coordinates: the order of
// derivatives makes no difference. An unknown itself has none of the latter.
struct Derivative {
  size_t unknown = 0;
  std::vector<size_t> by;
};

// Nothing: `variable` is neither an unknown nor a derivative of one.
std::optional<Derivative> ReadDerivative(
    std::string_view variable, const std::vector<std::string>& unknowns,
    const std::vector<std::string>& coordinates);

// What to tell about a variable that is neither that nor a coordinate.
std::string UnknownVariableText(std::string_view variable,
                                const std::vector<std::string>& unknowns,
                                const std::vector<std::string>& coordinates);

}  // namespace epochd::expression
