// SPDX-License-Identifier: Apache-2.0
#include "catalogue/scalar_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "catalogue/accepted_text.h"
#include "catalogue/findings.h"
#include "catalogue/references.h"
#include "expression/expression.h"

namespace epochd::catalogue {
namespace {

using Fault = std::optional<std::string>;

bool LooksLikeNumber(const Json& value) {
  const auto& text = value.get_ref<const std::string&>();
  return !text.empty() &&
         text.find_first_not_of("0123456789+-.eE") == std::string::npos;
}

// `2.0` is an integer too, however it is written.
bool IsWhole(const Json& value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (!value.is_number_float()) return value.is_number_integer();
  const double number = value.get<double>();
  return number == std::floor(number) && std::abs(number) <= kExact;
}

// Tells what `number` is not, "at least 1"; nothing: it is in the range.
Fault BrokenBound(const Parameter& parameter, double number) {
  const std::vector<double>& numbers = parameter.numbers;
  if (!numbers.empty()) {
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) {
      return std::nullopt;
    }
    std::vector<std::string> words;
    for (const double each : numbers) words.push_back(NumberText(each));
    return OrList(words);
  }
  if (parameter.min &&
      (number < *parameter.min ||
       (parameter.exclusive_min && number == *parameter.min))) {
    return (parameter.exclusive_min ? "more than " : "at least ") +
           NumberText(*parameter.min);
  }
  if (parameter.max &&
      (number > *parameter.max ||
       (parameter.exclusive_max && number == *parameter.max))) {
    return (parameter.exclusive_max ? "less than " : "at most ") +
           NumberText(*parameter.max);
  }
  if (parameter.odd && std::fmod(number, 2) == 0) return "an odd number";
  return std::nullopt;
}

// Text that computes, over variables where it `has_variables`.
Fault CheckExpression(const Json& value, bool has_variables) {
  if (value.is_number()) {
    if (std::isfinite(value.get<double>())) return std::nullopt;
    return "expected a finite number, got " + Quoted(value);
  }
  if (!value.is_string()) {
    return std::string("expected a number or ") +
           (has_variables ? "an expression such as sin(pi*x)"
                          : "text such as 0.01/pi") +
           ", got " + Quoted(value);
  }
  const auto& text = value.get_ref<const std::string&>();
  if (text.starts_with("${") && text.ends_with("}")) {
    return Quoted(value) + " was not substituted";
  }
  try {
    if (has_variables) {
      expression::Expression::Parse(text);
    } else if (!std::isfinite(expression::EvaluateConstant(text))) {
      return "expected a finite number, got " + Quoted(value);
    }
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return std::nullopt;
}

Fault CheckNumber(const Parameter& parameter, const Type& type,
                  const Json& value) {
  const bool is_int = type.kind == Type::Kind::kInt;
  const bool fits = is_int ? IsWhole(value) : value.is_number();
  if (!fits) {
    std::string fault = std::string("expected ") +
                        (is_int ? "an integer" : "a number") + ", got " +
                        Quoted(value);
    if (value.is_string() && LooksLikeNumber(value)) {
      fault += ", which is text (write it without quotes, as 0.0002)";
    }
    return fault;
  }
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() >
          static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return "expected at most 9223372036854775807, got " + Quoted(value);
  }
  const double number = value.get<double>();
  if (!std::isfinite(number)) {
    return "expected a finite number, got " + Quoted(value);
  }
  const Fault bound = BrokenBound(parameter, number);
  if (!bound) return std::nullopt;
  return "expected " + *bound + ", got " + Quoted(value);
}

Fault CheckPath(const Json& value) {
  constexpr size_t kLongestPath = 4096;
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() || text.size() > kLongestPath ||
      text.find('\0') != std::string::npos) {
    return "expected a path, got " + Quoted(value);
  }
  return std::nullopt;
}

// What begins as a job's checkpoint does goes on as one.
Fault CheckCheckpoint(const Json& value) {
  const std::string_view text = value.get_ref<const std::string&>();
  constexpr std::string_view kPrefix = "job/";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  const std::string_view rest = text.substr(kPrefix.size());
  const size_t slash = rest.find('/');
  const std::string_view which =
      slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  if (slash != 0 && (which == "best" || which == "last")) return std::nullopt;
  return "expected job/<id>/best or job/<id>/last, got " + Quoted(value);
}

Fault CheckText(const Parameter& parameter, const Type& type,
                const Json& value) {
  if (!value.is_string()) {
    std::string fault = "expected text, got " + Quoted(value);
    if (value.is_primitive()) fault += " (write it in quotes)";
    return fault;
  }
  const auto& text = value.get_ref<const std::string&>();
  if (RefName(value)) return "expected text, got a reference " + Quoted(value);
  if (text.starts_with("${") && text.ends_with("}")) {
    return Quoted(value) + " was not substituted";
  }
  const std::vector<std::string>& choices = parameter.choices;
  if (!choices.empty() &&
      std::find(choices.begin(), choices.end(), text) == choices.end()) {
    return "unknown value " + Quoted(value) + Hint(text, choices);
  }
  if (type.kind == Type::Kind::kPath) return CheckPath(value);
  if (type.kind == Type::Kind::kCheckpoint) return CheckCheckpoint(value);
  return std::nullopt;
}

// Checks text that `parse` understands.
template <typename Parse>
Fault CheckParsed(const Json& value, const Parse& parse,
                  const std::string& expected) {
  if (value.is_string() && parse(value.get_ref<const std::string&>())) {
    return std::nullopt;
  }
  return "expected " + expected + ", got " + Quoted(value);
}

Fault CheckEvery(const Parameter& parameter, const Json& value) {
  const std::vector<std::string>& units = parameter.choices;
  const auto is_accepted = [&units](const char* unit) {
    return units.empty() ||
           std::find(units.begin(), units.end(), unit) != units.end();
  };
  std::vector<std::string> examples;
  if (is_accepted("epochs")) examples.emplace_back("'1 epoch'");
  if (is_accepted("steps")) examples.emplace_back("'100 steps'");
  if (is_accepted("time")) examples.emplace_back("a duration such as 10m");
  const auto parse = [&](const std::string& text) {
    const std::optional<Every> every = ParseEvery(text);
    return every && is_accepted(every->epochs  ? "epochs"
                                : every->steps ? "steps"
                                               : "time");
  };
  return CheckParsed(value, parse, OrList(examples));
}

}  // namespace

std::optional<std::string> CheckScalar(const Parameter& parameter,
                                       const Type& type, const Json& value) {
  switch (type.kind) {
    case Type::Kind::kBool:
      if (value.is_boolean()) return std::nullopt;
      return "expected true or false, got " + Quoted(value);
    case Type::Kind::kInt:
    case Type::Kind::kFloat:
      return CheckNumber(parameter, type, value);
    case Type::Kind::kDuration:
      return CheckParsed(value, ParseDuration,
                         "a duration such as 90s, 10m or 2h");
    case Type::Kind::kSize:
      return CheckParsed(value, ParseBytes, "a size such as 512MiB or 2GiB");
    case Type::Kind::kEvery:
      return CheckEvery(parameter, value);
    case Type::Kind::kConstant:
      return CheckExpression(value, false);
    case Type::Kind::kExpression:
      return CheckExpression(value, true);
    default:
      return CheckText(parameter, type, value);
  }
}

}  // namespace epochd::catalogue
