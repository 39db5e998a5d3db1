// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/scalar.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace epochd::client {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool AllDigits(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

Scalar TooLarge(std::string_view text) {
  return {nullptr, "integer out of range '" + std::string(text.substr(0, 40)) +
                       "', 64 bits are accepted"};
}

Scalar ReadInteger(std::string_view text, std::string_view digits, int base,
                   bool negative) {
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), magnitude, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return TooLarge(text);
  }
  if (!negative) {
    if (magnitude <= INT64_MAX) return {static_cast<int64_t>(magnitude), ""};
    return {magnitude, ""};
  }
  constexpr uint64_t kMostNegative = uint64_t{1} << 63;
  if (magnitude > kMostNegative) return TooLarge(text);
  return {static_cast<int64_t>(~magnitude + 1), ""};
}

// Tells whether `text`, without its sign, is a float of the core schema.
bool IsFloat(std::string_view text) {
  size_t i = 0;
  size_t num_digits = 0;
  while (i < text.size() && IsDigit(text[i])) ++i, ++num_digits;
  if (i < text.size() && text[i] == '.') {
    ++i;
    while (i < text.size() && IsDigit(text[i])) ++i, ++num_digits;
  }
  if (num_digits == 0) return false;
  if (i == text.size()) return true;
  if (text[i] != 'e' && text[i] != 'E') return false;
  ++i;
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  return AllDigits(text.substr(i));
}

}  // namespace

Scalar ResolvePlain(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" ||
      text == "NULL") {
    return {nullptr, ""};
  }
  if (text == "true" || text == "True" || text == "TRUE") return {true, ""};
  if (text == "false" || text == "False" || text == "FALSE") {
    return {false, ""};
  }
  const bool negative = text.front() == '-';
  std::string_view number = text;
  if (negative || text.front() == '+') number.remove_prefix(1);
  if (AllDigits(number)) return ReadInteger(text, number, 10, negative);
  if (number.size() == text.size() && number.size() > 2 && number[0] == '0') {
    const std::string_view digits = number.substr(2);
    if (number[1] == 'x' &&
        digits.find_first_not_of("0123456789abcdefABCDEF") == digits.npos) {
      return ReadInteger(text, digits, 16, false);
    }
    if (number[1] == 'o' &&
        digits.find_first_not_of("01234567") == digits.npos) {
      return ReadInteger(text, digits, 8, false);
    }
  }
  const std::string_view special = number;
  if (special == ".inf" || special == ".Inf" || special == ".INF" ||
      text == ".nan" || text == ".NaN" || text == ".NAN") {
    return {nullptr, "number that is not finite '" + std::string(text) +
                         "', finite ones are accepted"};
  }
  if (!IsFloat(number)) return {std::string(text), ""};
  double value = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() ||
      !std::isfinite(value)) {
    return {nullptr, "number out of range '" + std::string(text.substr(0, 40)) +
                         "', those of a double are accepted"};
  }
  return {negative ? -value : value, ""};
}

}  // namespace epochd::client
