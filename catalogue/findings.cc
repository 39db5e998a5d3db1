// SPDX-License-Identifier: Apache-2.0
#include "catalogue/findings.h"

#include <cmath>
#include <utility>

namespace epochd::catalogue {
namespace {

constexpr size_t kMostNames = 24;

}  // namespace

std::string Joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) {
    if (!result.empty()) result += ", ";
    result += word;
  }
  return result;
}

void Findings::Report(const std::string& field, std::string description) {
  constexpr size_t kMost = 200;
  if (violations_.size() < kMost) {
    violations_.push_back({field, std::move(description)});
  }
}

std::string Quoted(const Json& value) {
  constexpr size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string NumberText(double value) {
  constexpr double kExact = 1e15;
  if (value == std::floor(value) && std::abs(value) < kExact) {
    return std::to_string(static_cast<int64_t>(value));
  }
  return Json(value).dump();
}

std::string WithArticle(const std::string& noun) {
  const bool is_vowel = !noun.empty() && std::string_view("aeiou").find(
                                             noun[0]) != std::string::npos;
  return (is_vowel ? "an " : "a ") + noun;
}

std::string Hint(std::string_view word, const std::vector<std::string>& known) {
  if (const auto nearest = Nearest(word, known)) {
    return ", did you mean '" + *nearest + "'?";
  }
  if (known.empty()) return "";
  if (known.size() <= kMostNames) return ", known are " + Joined(known);
  return ", known are " + Joined({known.begin(), known.begin() + kMostNames}) +
         " and " + std::to_string(known.size() - kMostNames) + " more";
}

}  // namespace epochd::catalogue
