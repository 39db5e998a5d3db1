// SPDX-License-Identifier: Apache-2.0
#include "catalogue/type.h"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "catalogue/catalogue.h"

namespace epochd::catalogue {
namespace {

constexpr int kDeepestType = 8;

// Gives what stands between `name<` and `>`.
std::optional<std::string_view> Argument(std::string_view spelling,
                                         std::string_view name) {
  if (spelling.size() < name.size() + 3 ||
      spelling.substr(0, name.size()) != name || spelling[name.size()] != '<' ||
      spelling.back() != '>') {
    return std::nullopt;
  }
  return spelling.substr(name.size() + 1, spelling.size() - name.size() - 2);
}

Type Parse(std::string_view spelling, int depth) {
  constexpr std::array<std::pair<std::string_view, Type::Kind>, 14> kPlain = {{
      {"bool", Type::Kind::kBool},
      {"int", Type::Kind::kInt},
      {"float", Type::Kind::kFloat},
      {"string", Type::Kind::kString},
      {"path", Type::Kind::kPath},
      {"duration", Type::Kind::kDuration},
      {"size", Type::Kind::kSize},
      {"every", Type::Kind::kEvery},
      {"score", Type::Kind::kScore},
      {"checkpoint", Type::Kind::kCheckpoint},
      {"constant", Type::Kind::kConstant},
      {"expression", Type::Kind::kExpression},
      {"any", Type::Kind::kAny},
      {"map", Type::Kind::kMap},
  }};
  for (const auto& [name, kind] : kPlain) {
    if (spelling == name) return Type{kind, nullptr, ""};
  }
  if (depth < kDeepestType) {
    if (auto element = Argument(spelling, "list")) {
      return Type{Type::Kind::kList,
                  std::make_shared<const Type>(Parse(*element, depth + 1)), ""};
    }
    if (auto element = Argument(spelling, "map")) {
      return Type{Type::Kind::kMap,
                  std::make_shared<const Type>(Parse(*element, depth + 1)), ""};
    }
    if (auto name = Argument(spelling, "section")) {
      return Type{Type::Kind::kSection, nullptr, std::string(*name)};
    }
    if (auto kind = Argument(spelling, "component")) {
      return Type{Type::Kind::kComponent, nullptr, std::string(*kind)};
    }
  }
  throw std::invalid_argument(
      "type: unknown '" + std::string(spelling) +
      "', known are bool, int, float, string, path, duration, size, every, "
      "score, checkpoint, constant, expression, any, map, list<T>, map<T>, "
      "section<Name>, component<kind>");
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Takes a number from the front of `text`.
template <typename T>
std::optional<T> TakeNumber(std::string_view& text) {
  T value{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

Type ParseType(std::string_view spelling) { return Parse(spelling, 0); }

std::optional<double> ParseDuration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  // A hundred years: beyond this only mistakes are made.
  constexpr double kLongest = 100 * 365.25 * 86400;
  std::string_view rest = Trimmed(text);
  if (rest.empty() || rest.front() < '0' || rest.front() > '9') {
    return std::nullopt;
  }
  const std::optional<double> number = TakeNumber<double>(rest);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  rest = Trimmed(rest);
  for (const auto& [unit, seconds] : kUnits) {
    if (rest != unit) continue;
    const double value = *number * seconds;
    if (value <= 0 || value > kLongest) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

std::optional<int64_t> ParseBytes(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 9> kUnits = {{
      {"B", 1.0},
      {"KiB", 1024.0},
      {"MiB", 1024.0 * 1024},
      {"GiB", 1024.0 * 1024 * 1024},
      {"TiB", 1024.0 * 1024 * 1024 * 1024},
      {"KB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
  }};
  if (text.empty() || text.front() < '0' || text.front() > '9') {
    return std::nullopt;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(
      text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit =
      Trimmed(text.substr(static_cast<size_t>(end - text.data())));
  for (const auto& [name, factor] : kUnits) {
    if (unit != name) continue;
    const double bytes = number * factor;
    constexpr double kMost = 9.0e18;
    if (bytes < 1 || bytes > kMost) return std::nullopt;
    return static_cast<int64_t>(bytes);
  }
  return std::nullopt;
}

std::optional<Every> ParseEvery(std::string_view text) {
  std::string_view rest = Trimmed(text);
  if (const std::optional<int64_t> number = TakeNumber<int64_t>(rest);
      number && *number > 0) {
    rest = Trimmed(rest);
    if (rest == "epoch" || rest == "epochs") return Every{*number, {}, {}};
    if (rest == "step" || rest == "steps") return Every{{}, *number, {}};
  }
  if (const std::optional<double> seconds = ParseDuration(text)) {
    return Every{{}, {}, *seconds};
  }
  return std::nullopt;
}

}  // namespace epochd::catalogue
