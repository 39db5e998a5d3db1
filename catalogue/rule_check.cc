// SPDX-License-Identifier: Apache-2.0
#include "catalogue/rule_check.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "catalogue/accepted_text.h"
#include "catalogue/component_form.h"
#include "catalogue/parameters.h"
#include "catalogue/references.h"
#include "expression/derivative.h"
#include "expression/expression.h"

namespace epochd::catalogue {
namespace {

using Check = Rule::Check;

// Sums of decimal fractions are not exact.
constexpr double kRounding = 1e-9;

// The names that a list holds, or the keys of a map; one text is a list of one.
std::vector<std::string> NamesIn(const Json* value) {
  std::vector<std::string> names;
  if (value == nullptr) return names;
  if (value->is_string()) names.push_back(value->get<std::string>());
  if (value->is_object()) {
    for (const auto& [key, ignored] : value->items()) names.push_back(key);
  }
  if (value->is_array()) {
    for (const Json& each : *value) {
      if (each.is_string()) names.push_back(each.get<std::string>());
    }
  }
  return names;
}

// How many values a list has; one value is a list of one.
size_t LengthOf(const Json& value) {
  return value.is_array() ? value.size() : 1;
}

std::string Count(size_t number) {
  return std::to_string(number) + (number == 1 ? " value" : " values");
}

class RuleChecker {
 public:
  RuleChecker(const Component& component, const Json& parameters,
              const std::string& field, const Json& named, Findings& findings)
      : component_(component),
        parameters_(parameters),
        field_(field),
        named_(named),
        findings_(findings) {}

  void Check(const Rule& rule) {
    if (!Holds(rule.when)) return;
    switch (rule.check) {
      case Check::kOneOf:
      case Check::kAtMostOne:
        return CheckOneOf(rule);
      case Check::kTogether:
      case Check::kNeeds:
        return CheckPresence(rule);
      case Check::kAbsent:
        return CheckAbsent(rule);
      case Check::kIs:
        return CheckIs(rule);
      case Check::kLess:
      case Check::kAtMost:
      case Check::kDivides:
        return CheckNumbers(rule);
      case Check::kSameLength:
      case Check::kOneShorter:
      case Check::kOneForEach:
        return CheckLengths(rule);
      case Check::kSumAtMost:
        return CheckSum(rule);
      case Check::kAmong:
        return CheckAmong(rule);
      case Check::kDistinct:
        return CheckDistinct(rule);
      case Check::kFromZero:
        return CheckFromZero(rule);
      case Check::kVariables:
        return CheckVariables(rule);
      case Check::kAlike:
        // Told where the whole experiment is looked at.
        return;
    }
  }

 private:
  // What was written; nullptr: nothing.
  const Json* Given(const std::string& name) const {
    const Parameter* parameter = FindParameter(component_, name);
    return parameter == nullptr ? nullptr : FindGiven(*parameter, parameters_);
  }
  // The same, or the default.
  const Json* Value(const std::string& name) const {
    const Parameter* parameter = FindParameter(component_, name);
    if (parameter == nullptr) return nullptr;
    if (const Json* given = FindGiven(*parameter, parameters_)) return given;
    return parameter->default_value.is_null() ? nullptr
                                              : &parameter->default_value;
  }
  std::optional<double> Number(const std::string& name) const {
    const Json* value = Value(name);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    return value->get<double>();
  }

  bool Holds(const std::vector<Condition>& when) const {
    return std::all_of(when.begin(), when.end(), [this](const auto& each) {
      if (each.values.empty()) return Given(each.parameter) != nullptr;
      const Json* value = Value(each.parameter);
      return value != nullptr &&
             std::find(each.values.begin(), each.values.end(), *value) !=
                 each.values.end();
    });
  }

  // That of the key that was written, which may be an alias.
  std::string FieldOf(const std::string& name) const {
    const Parameter* parameter = FindParameter(component_, name);
    std::string key = name;
    for (const auto& [written, value] : parameters_.items()) {
      if (!value.is_null() && FindParameter(component_, written) == parameter) {
        key = written;
      }
    }
    return AppendKey(field_, key);
  }
  void Report(const std::string& name, std::string description) {
    findings_.Report(FieldOf(name), std::move(description));
  }

  void CheckOneOf(const Rule& rule) {
    std::vector<std::string> given;
    for (const std::string& name : rule.of) {
      if (Given(name) != nullptr) given.push_back(name);
    }
    if (given.empty() && rule.check == Check::kOneOf) {
      Report(rule.of.front(), "missing, " + component_.name + " needs one of " +
                                  OrList(rule.of) + ConditionText(rule.when));
    }
    for (size_t i = 1; i < given.size(); ++i) {
      Report(given[i], "given beside '" + given[0] + "', expected one of " +
                           OrList(rule.of) + ConditionText(rule.when));
    }
  }

  void CheckPresence(const Rule& rule) {
    const std::string& first = rule.of.front();
    std::string cause = component_.name + ConditionText(rule.when);
    size_t needed_from = 0;
    if (rule.check == Check::kTogether) {
      const auto given = std::find_if(
          rule.of.begin(), rule.of.end(),
          [this](const auto& name) { return Given(name) != nullptr; });
      if (given == rule.of.end()) return;
      cause = *given;
    } else if (rule.of.size() > 1) {
      if (Given(first) == nullptr) return;
      cause = first + ConditionText(rule.when);
      needed_from = 1;
    }
    for (size_t i = needed_from; i < rule.of.size(); ++i) {
      const Json* value = Value(rule.of[i]);
      if (value == nullptr) {
        Report(rule.of[i], "missing, " + cause + " needs it");
      } else if (value->is_structured() ? value->empty() : *value == "") {
        Report(rule.of[i], "empty, " + cause + " needs it");
      }
    }
  }

  void CheckAbsent(const Rule& rule) {
    for (const std::string& name : rule.of) {
      const Json* value = Given(name);
      if (value == nullptr) continue;
      if (rule.values.empty()) {
        // Resolved files hold every default.
        if (*value == FindParameter(component_, name)->default_value) continue;
        Report(name, "not accepted" + ConditionText(rule.when) + ", got " +
                         Quoted(*value));
      } else {
        CheckWithin(rule, *value, FieldOf(name));
      }
    }
  }

  // Looks for keys that components must not have here, behind references too.
  void CheckWithin(const Rule& rule, const Json& value,
                   const std::string& field) {
    struct Part {
      const Json* value;
      std::string field;
      std::string name;  // that a reference gave; `field` is where it stands
    };
    std::vector<Part> parts = {{&value, field, ""}};
    std::set<std::string> followed;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Part part = parts[i];
      if (const auto name = RefName(*part.value)) {
        // What names nothing, or itself, is reported elsewhere.
        if (named_.contains(*name) && followed.insert(*name).second) {
          parts.push_back({&named_.at(*name), part.field, *name});
        }
      } else if (const std::optional<Form> form = ReadForm(*part.value)) {
        CheckKeys(rule, *form, part.field, part.name);
      } else if (part.value->is_structured()) {
        size_t index = 0;
        for (const auto& [key, child] : part.value->items()) {
          parts.push_back({&child,
                           !part.name.empty() ? part.field
                           : part.value->is_array()
                               ? AppendIndex(part.field, index++)
                               : AppendKey(part.field, key),
                           part.name});
        }
      }
    }
  }

  void CheckKeys(const Rule& rule, const Form& form, const std::string& field,
                 const std::string& name) {
    if (form.parameters == nullptr) return;
    for (const auto& [key, given] : form.parameters->items()) {
      if (given.is_null() || std::find(rule.values.begin(), rule.values.end(),
                                       Json(key)) == rule.values.end()) {
        continue;
      }
      // Resolved files hold every default.
      const Parameter* here = FindParameter(component_, key);
      if (here != nullptr && given == here->default_value) continue;
      findings_.Report(field, (name.empty() ? "" : "'" + name + "' ") +
                                  "has a " + key + "; it belongs to the " +
                                  component_.kind + " around it, " +
                                  component_.name + " (" + field_ + ")");
    }
  }

  void CheckIs(const Rule& rule) {
    const Json* value = Value(rule.of.front());
    if (value == nullptr || std::find(rule.values.begin(), rule.values.end(),
                                      *value) != rule.values.end()) {
      return;
    }
    std::vector<std::string> words;
    for (const Json& each : rule.values) words.push_back(Quoted(each));
    Report(rule.of.front(), "expected " + OrList(words) +
                                ConditionText(rule.when) + ", got " +
                                Quoted(*value));
  }

  void CheckNumbers(const Rule& rule) {
    const auto& [first, second] = std::pair(rule.of[0], rule.of[1]);
    const std::optional<double> one = Number(first);
    const std::optional<double> other = Number(second);
    if (!one || !other) return;
    std::string expected;
    if (rule.check == Check::kLess) {
      if (*one < *other) return;
      expected = "less than ";
    } else if (rule.check == Check::kAtMost) {
      if (*one <= *other) return;
      expected = "at most ";
    } else {
      if (*one != 0 && std::fmod(*other, *one) == 0) return;
      expected = "a divisor of ";
    }
    // Whichever was written is at fault; of a pair, the first.
    if (Given(first) == nullptr) {
      expected = rule.check == Check::kLess     ? "more than "
                 : rule.check == Check::kAtMost ? "at least "
                                                : "a multiple of ";
      Report(second, "expected " + expected + first + ", which is " +
                         NumberText(*one) + ConditionText(rule.when) +
                         ", got " + NumberText(*other));
      return;
    }
    Report(first, "expected " + expected + second + ", which is " +
                      NumberText(*other) + ConditionText(rule.when) + ", got " +
                      NumberText(*one));
  }

  void CheckLengths(const Rule& rule) {
    const Json* list = Value(rule.of[0]);
    const Json* other = Value(rule.of[1]);
    if (list == nullptr || other == nullptr) return;
    // What a reference names is counted where it is built.
    if (RefName(*list) || RefName(*other)) return;
    const size_t length = LengthOf(*list);
    size_t wanted = 0;
    if (rule.check == Check::kOneForEach) {
      if (length == 0 || !other->is_number()) return;
      const Parameter* parameter = FindParameter(component_, rule.of[0]);
      if (length == 1 && parameter->scalar_ok) return;
      wanted = static_cast<size_t>(other->get<double>());
    } else {
      wanted = LengthOf(*other);
      if (rule.check == Check::kOneShorter && wanted > 0) --wanted;
    }
    if (length == wanted) return;
    const std::string relation =
        rule.check == Check::kOneShorter ? ", one less than " : ", as many as ";
    Report(rule.of[0],
           "expected " + Count(wanted) + relation +
               (rule.check == Check::kOneForEach ? rule.of[1] + " says"
                                                 : rule.of[1] + " has") +
               ", got " + std::to_string(length));
  }

  void CheckSum(const Rule& rule) {
    const Json* list = Value(rule.of.front());
    if (list == nullptr || !list->is_array()) return;
    double sum = 0;
    for (const Json& each : *list) {
      if (each.is_number()) sum += each.get<double>();
    }
    if (sum <= rule.values.front().get<double>() + kRounding) return;
    Report(rule.of.front(), "expected numbers that add up to at most " +
                                NumberText(rule.values.front()) + ", got " +
                                Quoted(*list) + ", which add up to " +
                                NumberText(std::round(sum * 1e6) / 1e6));
  }

  void CheckAmong(const Rule& rule) {
    const Json* among = Value(rule.of[1]);
    if (among == nullptr) return;
    const std::vector<std::string> known = NamesIn(among);
    for (const std::string& name : NamesIn(Value(rule.of[0]))) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      Report(rule.of[0],
             "'" + name + "' is none of " + rule.of[1] + Hint(name, known));
    }
  }

  void CheckDistinct(const Rule& rule) {
    const Json* list = Value(rule.of.front());
    if (list == nullptr || !list->is_array()) return;
    std::set<std::string> seen;
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string text = (*list)[i].dump();
      if (seen.insert(text).second) continue;
      findings_.Report(FieldOf(rule.of.front()) + "[" + std::to_string(i) + "]",
                       "expected each value once, got " + text + " again");
    }
  }

  void CheckFromZero(const Rule& rule) {
    const Json* map = Value(rule.of.front());
    if (map == nullptr || !map->is_object()) return;
    bool has_zero = false;
    for (const auto& [key, value] : map->items()) {
      int64_t number = -1;
      const char* end = key.data() + key.size();
      const auto read = std::from_chars(key.data(), end, number);
      if (read.ec != std::errc() || read.ptr != end || number < 0 ||
          std::to_string(number) != key) {
        findings_.Report(
            AppendKey(FieldOf(rule.of.front()), key),
            "expected a whole number from 0 on as the key, got '" + key + "'");
        return;
      }
      has_zero |= number == 0;
    }
    if (has_zero) return;
    Report(rule.of.front(), "expected 0 among the keys, got " +
                                (map->empty() ? "none" : Joined(NamesIn(map))));
  }

  void CheckVariables(const Rule& rule) {
    std::vector<std::string> unknowns;
    for (const Json& each : rule.values) {
      unknowns.push_back(each.get<std::string>());
    }
    if (rule.of.size() > 3) unknowns = NamesIn(Value(rule.of[2]));
    const std::vector<std::string> coordinates = NamesIn(Value(rule.of[1]));
    expression::Expression::Constants constants;
    if (const Json* given = Value(rule.of.back()); given != nullptr) {
      for (const auto& [key, value] : given->items()) {
        constants[key] = value.is_number()
                             ? value.get<double>()
                             : expression::EvaluateConstant(
                                   value.get_ref<const std::string&>());
      }
    }
    const Json* value = Value(rule.of.front());
    if (value == nullptr) return;
    for (const std::string& text : NamesIn(value)) {
      CheckVariablesOf(text, rule.of.front(), unknowns, coordinates, constants);
    }
  }

  void CheckVariablesOf(const std::string& text, const std::string& name,
                        const std::vector<std::string>& unknowns,
                        const std::vector<std::string>& coordinates,
                        const expression::Expression::Constants& constants) {
    try {
      const auto parsed = expression::Expression::Parse(text, constants);
      for (const std::string& variable : parsed.variables()) {
        const bool is_coordinate =
            std::find(coordinates.begin(), coordinates.end(), variable) !=
            coordinates.end();
        if (is_coordinate ||
            expression::ReadDerivative(variable, unknowns, coordinates)) {
          continue;
        }
        Report(name, "expression \"" + text + "\": " +
                         expression::UnknownVariableText(variable, unknowns,
                                                         coordinates));
        return;
      }
    } catch (const std::invalid_argument& error) {
      // What constants make of it, such as a division by 0.
      Report(name, error.what());
    }
  }

  const Component& component_;
  const Json& parameters_;
  const std::string& field_;
  const Json& named_;
  Findings& findings_;
};

}  // namespace

void CheckItems(const Parameter& parameter, const Json& value,
                const std::string& field, Findings& findings) {
  const size_t length = value.is_structured() ? value.size() : 1;
  const auto count = static_cast<int>(length);
  if ((parameter.min_items && count < *parameter.min_items) ||
      (parameter.max_items && count > *parameter.max_items)) {
    findings.Report(field, "expected " + ItemsText(parameter) + ", got " +
                               std::to_string(length) + ": " + Quoted(value));
    return;
  }
  if (parameter.order == Parameter::Order::kAny || !value.is_array()) return;
  const bool is_rising = parameter.order == Parameter::Order::kRising;
  for (size_t i = 1; i < length; ++i) {
    if (!value[i].is_number() || !value[i - 1].is_number()) return;
    const double before = value[i - 1].get<double>();
    const double number = value[i].get<double>();
    if (is_rising ? number > before : number >= before) continue;
    findings.Report(AppendIndex(field, i),
                    std::string("expected ") +
                        (is_rising ? "more than " : "at least ") +
                        NumberText(before) + ", the number before it, got " +
                        NumberText(number));
    return;
  }
}

void CheckRules(const Component& component, const Json& parameters,
                const std::string& field, const Json& named,
                Findings& findings) {
  RuleChecker checker(component, parameters, field, named, findings);
  for (const Rule& rule : component.rules) checker.Check(rule);
}

}  // namespace epochd::catalogue
