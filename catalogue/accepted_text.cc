// SPDX-License-Identifier: Apache-2.0
#include "catalogue/accepted_text.h"

#include <algorithm>

#include "catalogue/findings.h"
#include "catalogue/type.h"

namespace epochd::catalogue {
namespace {

std::string PlainWord(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string ValuesText(const std::vector<Json>& values) {
  std::vector<std::string> words;
  for (const Json& value : values) words.push_back(PlainWord(value));
  return OrList(words);
}

// Of the unit that comes first.
std::string EveryText(const Parameter& parameter) {
  const std::string unit =
      parameter.choices.empty() ? "epochs" : parameter.choices.front();
  return unit == "epochs"  ? "an interval such as '1 epoch'"
         : unit == "steps" ? "an interval such as '100 steps'"
                           : "a duration such as 10m";
}

std::string TypeText(const Catalogue& catalogue, const Parameter& parameter,
                     const Type& type) {
  const auto in_range = [&parameter](const std::string& text) {
    const std::string range = RangeText(parameter);
    return range.empty() ? text : text + ", " + range;
  };
  switch (type.kind) {
    case Type::Kind::kBool:
      return "true or false";
    case Type::Kind::kInt:
      return in_range("an integer");
    case Type::Kind::kFloat:
      return in_range("a number");
    case Type::Kind::kString:
      return parameter.choices.empty() ? "text" : OrList(parameter.choices);
    case Type::Kind::kPath:
      return "a path";
    case Type::Kind::kDuration:
      return "a duration such as 10m";
    case Type::Kind::kSize:
      return "a size such as 512MiB";
    case Type::Kind::kEvery:
      return EveryText(parameter);
    case Type::Kind::kScore:
      return "the name of a score such as val/loss";
    case Type::Kind::kCheckpoint:
      return "a checkpoint such as job/<id>/best, or its folder";
    case Type::Kind::kConstant:
      return "a number, or text such as 0.01/pi";
    case Type::Kind::kExpression:
      return "a number, or an expression such as sin(pi*x)";
    case Type::Kind::kAny:
      return "any value";
    case Type::Kind::kSection:
      return "a mapping";
    case Type::Kind::kComponent:
      return ExampleText(catalogue, type.argument);
    case Type::Kind::kList:
      if (parameter.scalar_ok) {
        return TypeText(catalogue, parameter, *type.element) +
               ", or a list of such";
      }
      return "a list, each value " +
             TypeText(catalogue, parameter, *type.element);
    case Type::Kind::kMap: {
      if (type.element == nullptr) return "a mapping";
      // They are keys.
      Parameter element = parameter;
      element.choices.clear();
      return "a mapping, each value " +
             TypeText(catalogue, element, *type.element);
    }
  }
  return "";
}

}  // namespace

std::string ExampleText(const Catalogue& catalogue, const std::string& kind,
                        const std::string& role) {
  std::string noun = role.empty() ? kind : role;
  std::replace(noun.begin(), noun.end(), '_', ' ');
  const auto& components = catalogue.components;
  const auto example = std::find_if(
      components.begin(), components.end(), [&](const Component& each) {
        return each.kind == kind && (role.empty() || each.role == role);
      });
  if (example == components.end()) return WithArticle(noun);
  return WithArticle(noun) + " such as {type: " + example->name +
         (example->parameters.empty() ? "}" : ", ...}");
}

std::string ValueText(const Catalogue& catalogue, const Parameter& parameter) {
  return TypeText(catalogue, parameter, ParseType(parameter.type));
}

std::string OrList(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string RangeText(const Parameter& parameter) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  if (!parameter.numbers.empty()) {
    std::vector<std::string> words;
    for (double number : parameter.numbers) words.push_back(NumberText(number));
    add(OrList(words));
  }
  if (parameter.min) {
    add((parameter.exclusive_min ? "more than " : "at least ") +
        NumberText(*parameter.min));
  }
  if (parameter.max) {
    add((parameter.exclusive_max ? "less than " : "at most ") +
        NumberText(*parameter.max));
  }
  if (parameter.odd) add("odd");
  return text;
}

std::string ItemsText(const Parameter& parameter) {
  const auto& [least, most] =
      std::pair(parameter.min_items, parameter.max_items);
  const auto count = [](int number) {
    return std::to_string(number) + (number == 1 ? " value" : " values");
  };
  if (least && most) {
    return *least == *most ? count(*least)
                           : std::to_string(*least) + " to " + count(*most);
  }
  if (least) return "at least " + count(*least);
  if (most) return "at most " + count(*most);
  return "";
}

std::string OrderText(const Parameter& parameter) {
  switch (parameter.order) {
    case Parameter::Order::kAny:
      return "";
    case Parameter::Order::kRising:
      return "rising";
    case Parameter::Order::kNotFalling:
      return "not falling";
  }
  return "";
}

std::string ConditionText(const std::vector<Condition>& when) {
  std::string text;
  for (const Condition& each : when) {
    text += text.empty() ? " with " : " and ";
    text += each.parameter;
    if (!each.values.empty()) text += ": " + ValuesText(each.values);
  }
  return text;
}

std::string RuleText(const Rule& rule) {
  using Check = Rule::Check;
  const std::vector<std::string> others(rule.of.begin() + 1, rule.of.end());
  const std::string& first = rule.of.front();
  std::string text;
  switch (rule.check) {
    case Check::kOneOf:
      text = "exactly one of " + Joined(rule.of);
      break;
    case Check::kAtMostOne:
      text = "at most one of " + Joined(rule.of);
      break;
    case Check::kTogether:
      text = "all of " + Joined(rule.of) + ", or none";
      break;
    case Check::kNeeds:
      text = others.empty() ? first + " is needed"
                            : first + " needs " + Joined(others);
      break;
    case Check::kAbsent:
      text = rule.values.empty() ? "no " + OrList(rule.of)
                                 : "no " + ValuesText(rule.values) +
                                       " within " + OrList(rule.of);
      break;
    case Check::kIs:
      text = first + " is " + ValuesText(rule.values);
      break;
    case Check::kLess:
      text = first + " is less than " + others.front();
      break;
    case Check::kAtMost:
      text = first + " is at most " + others.front();
      break;
    case Check::kDivides:
      text = first + " is a divisor of " + others.front();
      break;
    case Check::kSameLength:
      text = first + " has as many values as " + others.front();
      break;
    case Check::kOneShorter:
      text = first + " has one value less than " + others.front();
      break;
    case Check::kOneForEach:
      text = first + " has one value for each of " + others.front();
      break;
    case Check::kSumAtMost:
      text = first + " adds up to at most " + PlainWord(rule.values.front());
      break;
    case Check::kAmong:
      text = first + " is among " + others.front();
      break;
    case Check::kDistinct:
      text = first + " has no value twice";
      break;
    case Check::kFromZero:
      text = "keys of " + first + " are whole numbers, 0 among them";
      break;
    case Check::kVariables:
      text = "variables of " + first + " are among " + Joined(others);
      if (!rule.values.empty()) text += " and " + ValuesText(rule.values);
      break;
    case Check::kAlike:
      text = Joined(others) + " are the same wherever " + first + " is";
      break;
  }
  return text + ConditionText(rule.when);
}

}  // namespace epochd::catalogue
