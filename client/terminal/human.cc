// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/human.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace epochd::terminal {
namespace {

template <typename... Args>
std::string Format(const char* format, Args... args) {
  std::array<char, 64> buffer;
  const int size = snprintf(buffer.data(), buffer.size(), format, args...);
  return std::string(buffer.data(), static_cast<size_t>(size));
}

}  // namespace

std::string HumanDuration(absl::Duration duration) {
  if (duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) {
    return "-";
  }
  if (duration < absl::Seconds(1)) {
    return Format("%ldms",
                  static_cast<long>(absl::ToInt64Milliseconds(duration)));
  }
  const auto seconds = static_cast<long>(absl::ToInt64Seconds(duration));
  if (seconds < 60) return Format("%lds", seconds);
  if (seconds < 3600) return Format("%ldm%02lds", seconds / 60, seconds % 60);
  if (seconds < 86400) {
    return Format("%ldh%02ldm", seconds / 3600, seconds % 3600 / 60);
  }
  return Format("%ldd%02ldh", seconds / 86400, seconds % 86400 / 3600);
}

std::string HumanBytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB",
                                                 "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  // As rounded below: never 1024 of a unit.
  while (std::abs(value) >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const bool is_whole = value == std::floor(value) || value >= 100;
  return Format(is_whole ? "%.0f%s" : "%.1f%s", value, kUnits[unit]);
}

std::string HumanNumber(double value, int more_digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 1e-3 || size >= 1e7) return Format("%.*e", 3 + more_digits, value);
  if (size < 10) return Format("%.*f", 4 + more_digits, value);
  if (size < 100) return Format("%.*f", 2 + more_digits, value);
  if (size < 1000) return Format("%.*f", 1 + more_digits, value);
  return Format("%.*f", more_digits, value);
}

std::string HumanCount(double value) {
  if (!(std::abs(value) < 1e13)) return HumanNumber(value);
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {
      {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [factor, unit] : kUnits) {
    // What three digits round up to the unit is one of it.
    if (value < 0.9995 * factor) continue;
    const double number = value / factor;
    return Format(number < 999.5 ? "%.3g%s" : "%.0f%s", number, unit);
  }
  return Format("%.0f", value);
}

}  // namespace epochd::terminal
