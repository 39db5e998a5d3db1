// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <stdexcept>
#include <utility>

#include "catalogue/catalogue.h"
#include "catalogue/parameters.h"
#include "catalogue/type.h"

namespace epochd::catalogue {
namespace {

constexpr int kVersion = 1;

[[noreturn]] void Fail(const std::string& where, const std::string& problem) {
  throw std::invalid_argument(where + ": " + problem);
}

template <typename T>
using Word = std::pair<T, std::string_view>;

constexpr Word<Parameter::Order> kOrders[] = {
    {Parameter::Order::kRising, "rising"},
    {Parameter::Order::kNotFalling, "not_falling"}};

constexpr Word<Rule::Check> kChecks[] = {
    {Rule::Check::kOneOf, "one_of"},
    {Rule::Check::kAtMostOne, "at_most_one"},
    {Rule::Check::kTogether, "together"},
    {Rule::Check::kNeeds, "needs"},
    {Rule::Check::kAbsent, "absent"},
    {Rule::Check::kIs, "is"},
    {Rule::Check::kLess, "less"},
    {Rule::Check::kAtMost, "at_most"},
    {Rule::Check::kDivides, "divides"},
    {Rule::Check::kSameLength, "same_length"},
    {Rule::Check::kOneShorter, "one_shorter"},
    {Rule::Check::kOneForEach, "one_for_each"},
    {Rule::Check::kSumAtMost, "sum_at_most"},
    {Rule::Check::kAmong, "among"},
    {Rule::Check::kDistinct, "distinct"},
    {Rule::Check::kFromZero, "from_zero"},
    {Rule::Check::kVariables, "variables"},
    {Rule::Check::kAlike, "alike"}};

template <typename T, size_t n>
std::string WordOf(T value, const Word<T> (&words)[n]) {
  for (const auto& [each, word] : words) {
    if (each == value) return std::string(word);
  }
  return "";
}

template <typename T, size_t n>
T FromWord(const std::string& given, const Word<T> (&words)[n],
           const std::string& where) {
  for (const auto& [each, word] : words) {
    if (word == given) return each;
  }
  Fail(where, "unknown '" + given + "'");
}

// Reads `key` of `object` as T; absent: `fallback`.
template <typename T>
T Get(const Json& object, const char* key, T fallback,
      const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    Fail(where + "." + key, "of the wrong type");
  }
}

std::string Name(const Json& object, const char* key,
                 const std::string& where) {
  std::string name = Get<std::string>(object, key, "", where);
  if (name.empty()) Fail(where + "." + key, "missing or empty");
  return name;
}

std::optional<double> Bound(const Json& object, const char* key,
                            const std::string& where) {
  if (object.find(key) == object.end()) return std::nullopt;
  return Get<double>(object, key, 0, where);
}

std::optional<int> Number(const Json& object, const char* key,
                          const std::string& where) {
  if (object.find(key) == object.end()) return std::nullopt;
  return Get<int>(object, key, 0, where);
}

Json ParameterToJson(const Parameter& parameter) {
  Json json = {{"name", parameter.name}, {"type", parameter.type}};
  if (parameter.required) json["required"] = true;
  if (!parameter.default_value.is_null()) {
    json["default"] = parameter.default_value;
  }
  if (parameter.min) json["min"] = *parameter.min;
  if (parameter.max) json["max"] = *parameter.max;
  if (parameter.exclusive_min) json["exclusive_min"] = true;
  if (parameter.exclusive_max) json["exclusive_max"] = true;
  if (!parameter.numbers.empty()) json["numbers"] = parameter.numbers;
  if (parameter.odd) json["odd"] = true;
  if (!parameter.choices.empty()) json["choices"] = parameter.choices;
  if (!parameter.aliases.empty()) json["aliases"] = parameter.aliases;
  if (parameter.scalar_ok) json["scalar_ok"] = true;
  if (parameter.min_items) json["min_items"] = *parameter.min_items;
  if (parameter.max_items) json["max_items"] = *parameter.max_items;
  if (parameter.order != Parameter::Order::kAny) {
    json["order"] = WordOf(parameter.order, kOrders);
  }
  if (!parameter.help.empty()) json["help"] = parameter.help;
  return json;
}

Parameter ParameterFromJson(const Json& json, const std::string& where) {
  if (!json.is_object()) Fail(where, "not an object");
  Parameter parameter;
  parameter.name = Name(json, "name", where);
  const std::string here = where + " '" + parameter.name + "'";
  parameter.type = Name(json, "type", here);
  try {
    ParseType(parameter.type);
  } catch (const std::invalid_argument& error) {
    Fail(here, error.what());
  }
  parameter.required = Get(json, "required", false, here);
  if (const auto found = json.find("default"); found != json.end()) {
    parameter.default_value = *found;
  }
  parameter.min = Bound(json, "min", here);
  parameter.max = Bound(json, "max", here);
  parameter.exclusive_min = Get(json, "exclusive_min", false, here);
  parameter.exclusive_max = Get(json, "exclusive_max", false, here);
  parameter.numbers = Get(json, "numbers", parameter.numbers, here);
  parameter.odd = Get(json, "odd", false, here);
  parameter.choices = Get(json, "choices", parameter.choices, here);
  parameter.aliases = Get(json, "aliases", parameter.aliases, here);
  parameter.scalar_ok = Get(json, "scalar_ok", false, here);
  parameter.min_items = Number(json, "min_items", here);
  parameter.max_items = Number(json, "max_items", here);
  if (json.contains("order")) {
    parameter.order =
        FromWord(Name(json, "order", here), kOrders, here + ".order");
  }
  parameter.help = Get<std::string>(json, "help", "", here);
  return parameter;
}

Json ConditionToJson(const Condition& condition) {
  Json json = {{"parameter", condition.parameter}};
  if (!condition.values.empty()) json["values"] = condition.values;
  return json;
}

Json RuleToJson(const Rule& rule) {
  Json json = {{"check", WordOf(rule.check, kChecks)}, {"of", rule.of}};
  if (!rule.values.empty()) json["values"] = rule.values;
  for (const Condition& each : rule.when) {
    json["when"].push_back(ConditionToJson(each));
  }
  return json;
}

// Refuses a rule that names no parameter, or too few of them.
void CheckRule(const Rule& rule, const Component& component,
               const std::string& where) {
  using Check = Rule::Check;
  const bool is_of_one =
      rule.check == Check::kIs || rule.check == Check::kSumAtMost ||
      rule.check == Check::kNeeds || rule.check == Check::kAbsent ||
      rule.check == Check::kDistinct || rule.check == Check::kFromZero;
  if (rule.of.size() < (rule.check == Check::kVariables ? 3u
                        : is_of_one                     ? 1u
                                                        : 2u)) {
    Fail(where + ".of", "too few parameters");
  }
  if (rule.values.empty() &&
      (rule.check == Check::kIs || rule.check == Check::kSumAtMost)) {
    Fail(where + ".values", "missing or empty");
  }
  std::vector<std::string> names = rule.of;
  for (const Condition& each : rule.when) names.push_back(each.parameter);
  for (const std::string& name : names) {
    if (FindParameter(component, name) == nullptr) {
      Fail(where, "no parameter '" + name + "'");
    }
  }
}

std::vector<Rule> RulesFromJson(const Json& json, const Component& component,
                                const std::string& where) {
  std::vector<Rule> rules;
  if (!json.is_array()) Fail(where, "not a list");
  for (const Json& element : json) {
    if (!element.is_object()) Fail(where, "not a list of objects");
    Rule rule;
    rule.check =
        FromWord(Name(element, "check", where), kChecks, where + ".check");
    rule.of = Get(element, "of", rule.of, where);
    rule.values = Get(element, "values", rule.values, where);
    if (const auto when = element.find("when"); when != element.end()) {
      if (!when->is_array()) Fail(where + ".when", "not a list");
      for (const Json& each : *when) {
        if (!each.is_object()) Fail(where + ".when", "not a list of objects");
        Condition condition;
        condition.parameter = Name(each, "parameter", where + ".when");
        condition.values =
            Get(each, "values", condition.values, where + ".when");
        rule.when.push_back(std::move(condition));
      }
    }
    CheckRule(rule, component, where);
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<LossPlace> LossPlacesFromJson(const Json& json,
                                          const std::string& where) {
  std::vector<LossPlace> places;
  if (!json.is_array()) Fail(where, "not a list");
  for (const Json& element : json) {
    if (!element.is_object()) Fail(where, "not a list of objects");
    LossPlace place;
    place.at = Name(element, "at", where);
    place.fields = Get(element, "fields", place.fields, where);
    place.role = Get<std::string>(element, "role", "", where);
    places.push_back(std::move(place));
  }
  return places;
}

// Refuses a key that two parameters of one component answer to.
void CheckUnique(const Component& component, const std::string& where) {
  std::set<std::string> seen;
  for (const Parameter& parameter : component.parameters) {
    if (!seen.insert(parameter.name).second) {
      Fail(where, "parameter '" + parameter.name + "' is declared twice");
    }
    for (const std::string& alias : parameter.aliases) {
      if (!seen.insert(alias).second) {
        Fail(where, "parameter alias '" + alias + "' is declared twice");
      }
    }
  }
}

Json NeedToJson(const Need& need) {
  Json json = {{"any_of", need.any_of}};
  if (!need.tasks.empty()) json["tasks"] = need.tasks;
  if (!need.role.empty()) json["role"] = need.role;
  return json;
}

std::vector<Need> NeedsFromJson(const Json& json, const std::string& where) {
  std::vector<Need> needs;
  if (!json.is_array()) Fail(where, "not a list");
  for (const Json& element : json) {
    if (!element.is_object()) Fail(where, "not a list of objects");
    Need need;
    need.any_of = Get(element, "any_of", need.any_of, where);
    need.tasks = Get(element, "tasks", need.tasks, where);
    need.role = Get<std::string>(element, "role", "", where);
    if (need.any_of.empty()) Fail(where + ".any_of", "missing or empty");
    needs.push_back(std::move(need));
  }
  return needs;
}

Component ComponentFromJson(const Json& json, const std::string& where) {
  if (!json.is_object()) Fail(where, "not an object");
  Component component;
  component.kind = Name(json, "kind", where);
  component.name = Name(json, "name", where);
  const std::string here = component.kind + "/" + component.name;
  component.aliases = Get(json, "aliases", component.aliases, here);
  component.help = Get<std::string>(json, "help", "", here);
  if (json.contains("max_replicas")) {
    component.max_replicas = Get(json, "max_replicas", 0, here);
    if (*component.max_replicas < 1) Fail(here, "max_replicas is less than 1");
  }
  component.open = Get(json, "open", false, here);
  component.one_of = Get(json, "one_of", std::string(), here);
  component.gives = Get(json, "gives", component.gives, here);
  if (const auto needs = json.find("needs"); needs != json.end()) {
    component.needs = NeedsFromJson(*needs, here + ".needs");
  }
  component.reads = Get(json, "reads", component.reads, here);
  component.role = Get<std::string>(json, "role", "", here);
  if (const auto losses = json.find("losses"); losses != json.end()) {
    component.losses = LossPlacesFromJson(*losses, here + ".losses");
  }
  const auto parameters = json.find("parameters");
  if (parameters == json.end()) return component;
  if (!parameters->is_array()) Fail(here + ".parameters", "not a list");
  for (const Json& parameter : *parameters) {
    component.parameters.push_back(
        ParameterFromJson(parameter, here + ": parameter"));
  }
  CheckUnique(component, here);
  if (const auto rules = json.find("rules"); rules != json.end()) {
    component.rules = RulesFromJson(*rules, component, here + ".rules");
  }
  return component;
}

}  // namespace

Json ToJson(const Catalogue& catalogue) {
  Json components = Json::array();
  for (const Component& component : catalogue.components) {
    Json json = {{"kind", component.kind}, {"name", component.name}};
    if (!component.aliases.empty()) json["aliases"] = component.aliases;
    if (!component.help.empty()) json["help"] = component.help;
    if (component.max_replicas) json["max_replicas"] = *component.max_replicas;
    if (component.open) json["open"] = true;
    if (!component.one_of.empty()) json["one_of"] = component.one_of;
    if (!component.gives.empty()) json["gives"] = component.gives;
    for (const Need& need : component.needs) {
      json["needs"].push_back(NeedToJson(need));
    }
    for (const Rule& rule : component.rules) {
      json["rules"].push_back(RuleToJson(rule));
    }
    if (!component.reads.empty()) json["reads"] = component.reads;
    if (!component.role.empty()) json["role"] = component.role;
    for (const LossPlace& place : component.losses) {
      json["losses"].push_back(
          {{"at", place.at}, {"fields", place.fields}, {"role", place.role}});
    }
    Json parameters = Json::array();
    for (const Parameter& parameter : component.parameters) {
      parameters.push_back(ParameterToJson(parameter));
    }
    json["parameters"] = std::move(parameters);
    components.push_back(std::move(json));
  }
  return {{"version", kVersion}, {"components", std::move(components)}};
}

Catalogue FromJson(const Json& json) {
  if (!json.is_object()) Fail("catalogue", "not an object");
  if (const int version = Get(json, "version", 0, "catalogue");
      version != kVersion) {
    Fail("catalogue.version", "unknown " + std::to_string(version) +
                                  ", known is " + std::to_string(kVersion));
  }
  const auto components = json.find("components");
  if (components == json.end() || !components->is_array()) {
    Fail("catalogue.components", "not a list");
  }
  Catalogue catalogue;
  std::set<std::pair<std::string, std::string>> seen;
  for (size_t i = 0; i < components->size(); ++i) {
    Component component = ComponentFromJson(
        (*components)[i], "catalogue.components[" + std::to_string(i) + "]");
    std::vector<std::string> names = component.aliases;
    names.push_back(component.name);
    for (const std::string& name : names) {
      if (!seen.emplace(component.kind, name).second) {
        Fail(component.kind + "/" + name, "the name is taken already");
      }
    }
    catalogue.components.push_back(std::move(component));
  }
  return catalogue;
}

}  // namespace epochd::catalogue
