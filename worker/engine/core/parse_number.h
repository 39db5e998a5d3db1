// SPDX-License-Identifier: Apache-2.0
//
// Numbers written in files and names.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace epochd::engine {

// All of `text` as a number in decimal, whatever the locale; a sign is - alone,
// and there are no blanks. Nothing: it is none, does not fit a T, or is not
// finite.
template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || next != end) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

}  // namespace epochd::engine
