// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <stdexcept>
#include <utility>

#include "catalogue/catalogue.h"
#include "catalogue/type.h"

namespace epochd::catalogue {
namespace {

constexpr int kVersion = 1;

[[noreturn]] void Fail(const std::string& where, const std::string& problem) {
  throw std::invalid_argument(where + ": " + problem);
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

Json ParameterToJson(const Parameter& parameter) {
  Json json = {{"name", parameter.name}, {"type", parameter.type}};
  if (parameter.required) json["required"] = true;
  if (!parameter.default_value.is_null()) {
    json["default"] = parameter.default_value;
  }
  if (parameter.min) json["min"] = *parameter.min;
  if (parameter.max) json["max"] = *parameter.max;
  if (parameter.exclusive_min) json["exclusive_min"] = true;
  if (!parameter.choices.empty()) json["choices"] = parameter.choices;
  if (!parameter.aliases.empty()) json["aliases"] = parameter.aliases;
  if (parameter.scalar_ok) json["scalar_ok"] = true;
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
  parameter.choices = Get(json, "choices", parameter.choices, here);
  parameter.aliases = Get(json, "aliases", parameter.aliases, here);
  parameter.scalar_ok = Get(json, "scalar_ok", false, here);
  parameter.help = Get<std::string>(json, "help", "", here);
  return parameter;
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
  component.gives = Get(json, "gives", component.gives, here);
  if (const auto needs = json.find("needs"); needs != json.end()) {
    component.needs = NeedsFromJson(*needs, here + ".needs");
  }
  const auto parameters = json.find("parameters");
  if (parameters == json.end()) return component;
  if (!parameters->is_array()) Fail(here + ".parameters", "not a list");
  for (const Json& parameter : *parameters) {
    component.parameters.push_back(
        ParameterFromJson(parameter, here + ": parameter"));
  }
  CheckUnique(component, here);
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
    if (!component.gives.empty()) json["gives"] = component.gives;
    for (const Need& need : component.needs) {
      json["needs"].push_back(NeedToJson(need));
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
