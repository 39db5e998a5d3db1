// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/job_schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalogue/type.h"
#include "client/epochctl/catalogue_markdown.h"
#include "client/job_file/job_component.h"

namespace epochd::epochctl {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;
using catalogue::Type;

Json Ref(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }

Json AnyOf(std::vector<Json> schemas) {
  return {{"anyOf", Json(std::move(schemas))}};
}

Json Pattern(const std::string& pattern) {
  return {{"type", "string"}, {"pattern", pattern}};
}

// A bound as JSON Schema's own meta-schema wants it: 1, not 1.0.
Json Number(double value) {
  constexpr double kExact = 1e15;
  if (value == std::floor(value) && std::abs(value) < kExact) {
    return static_cast<int64_t>(value);
  }
  return value;
}

std::string Escaped(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (std::string_view(".+*?()[]{}|^$\\/").find(c) !=
        std::string_view::npos) {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

class Writer {
 public:
  explicit Writer(const catalogue::Catalogue& catalogue) {
    for (const Component& component : catalogue.components) {
      kinds_[component.kind].push_back(&component);
    }
  }

  Json Write() {
    Json defs = {
        {"substitution",
         {{"description", "${a.b}: another value of the experiment"},
          {"type", "string"},
          {"pattern", "^\\$\\{(?!ref:)[^}]+\\}$"}}},
        {"reference",
         {{"description", "${ref:name}: a named object of the experiment"},
          {"type", "string"},
          {"pattern", "^\\$\\{ref:[^}]+\\}$"}}},
        {"duration", Pattern("^ *[0-9.]+(e[0-9]+)? *(ms|s|m|h|d) *$")},
        {"size", Pattern("^[0-9.]+ *([KMGT]i?)?B *$")},
        {"every",
         Pattern("^ *([1-9][0-9]* *(epochs?|steps?)|[0-9.]+(e[0-9]+)? *"
                 "(ms|s|m|h|d)) *$")}};
    for (const auto& [kind, components] : kinds_) {
      if (kind == "experiment") continue;
      for (const Component* component : components) {
        defs[kind + "." + component->name] = Parameters(*component, "");
      }
      if (kind != "section") defs[kind] = Kind(components);
    }
    defs["component"] = AnyComponent();
    for (const Component* experiment : kinds_["experiment"]) {
      defs["section.Experiment"] = Experiment(*experiment);
    }
    in_service_keys_ = true;
    const std::vector<Component> sections = client::JobSections();
    for (const Component& section : sections) {
      defs["section." + section.name] = Parameters(section, "");
    }
    Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "epochd job file"}};
    schema.update(Parameters(client::JobComponent(), ""));
    // Beside defaults, a file may say any part of the whole.
    schema["properties"]["experiment"] = {{"type", "object"}};
    schema["if"] = {{"not", {{"required", Json::array({"defaults"})}}}};
    schema["then"] = {
        {"properties", {{"experiment", Ref("section.Experiment")}}},
        {"anyOf", Json::array({{{"required", Json::array({"experiment"})}},
                               {{"required", Json::array({"command"})}}})}};
    schema["not"] = {{"required", Json::array({"experiment", "command"})}};
    schema["$defs"] = std::move(defs);
    return schema;
  }

 private:
  // The mapping of a component's parameters. `name_key`: where its name
  // stands among them.
  Json Parameters(const Component& component, const std::string& name_key) {
    Json schema = {{"type", "object"}};
    if (!component.help.empty()) schema["description"] = component.help;
    Json properties = Json::object();
    if (!name_key.empty()) properties[name_key] = true;
    Json required = Json::array();
    Json all_of = Json::array();
    for (const Parameter& parameter : component.parameters) {
      const Json value = Value(parameter);
      properties[parameter.name] = value;
      for (const std::string& alias : parameter.aliases) {
        properties[alias] = value;
      }
      if (!parameter.required) continue;
      if (parameter.aliases.empty()) {
        required.push_back(parameter.name);
        continue;
      }
      std::vector<Json> names = {{{"required", Json::array({parameter.name})}}};
      for (const std::string& alias : parameter.aliases) {
        names.push_back({{"required", Json::array({alias})}});
      }
      all_of.push_back(AnyOf(std::move(names)));
    }
    schema["properties"] = std::move(properties);
    if (!required.empty()) schema["required"] = std::move(required);
    if (!all_of.empty()) schema["allOf"] = std::move(all_of);
    // Forms add the key that names them; see Kind().
    if (component.kind == "section" || component.kind == "job") {
      schema["additionalProperties"] = false;
    }
    return schema;
  }

  // All components of a kind, each in its three forms.
  Json Kind(const std::vector<const Component*>& components) {
    std::vector<Json> forms = {Ref("reference"), Ref("substitution")};
    Json names = Json::array();
    std::string pattern;
    for (const Component* component : components) {
      for (const std::string& name : Names(*component)) {
        names.push_back(name);
        pattern += (pattern.empty() ? "" : "|") + Escaped(name);
      }
    }
    const Json name = {
        {"anyOf",
         Json::array({{{"enum", names}}, Pattern("\\.(" + pattern + ")$")})}};
    forms.push_back(FlatForm("type", name, components));
    forms.push_back(FlatForm("_target_", name, components));
    forms.push_back(NestedForm(name, components));
    return AnyOf(std::move(forms));
  }

  static std::vector<std::string> Names(const Component& component) {
    std::vector<std::string> names = {component.name};
    names.insert(names.end(), component.aliases.begin(),
                 component.aliases.end());
    return names;
  }

  static Json IsNamed(const std::string& key, const Component& component) {
    std::string pattern;
    for (const std::string& name : Names(component)) {
      pattern += (pattern.empty() ? "" : "|") + Escaped(name);
    }
    return {{"properties", {{key, {{"pattern", "(^|\\.)(" + pattern + ")$"}}}}},
            {"required", Json::array({key})}};
  }

  // {type: Name, parameter: ...}.
  static Json FlatForm(const std::string& key, const Json& name,
                       const std::vector<const Component*>& components) {
    Json form = {{"type", "object"},
                 {"properties", {{key, name}}},
                 {"required", Json::array({key})}};
    Json all_of = Json::array();
    for (const Component* component : components) {
      Json own = Json::object();
      own[key] = true;
      if (key == "_target_") {
        own["_partial_"] = {{"type", "boolean"}};
        own["_recursive_"] = {{"type", "boolean"}};
        own["_convert_"] = true;
      }
      all_of.push_back({{"if", IsNamed(key, *component)},
                        {"then",
                         {{"$ref", DefOf(*component)},
                          {"properties", std::move(own)},
                          {"unevaluatedProperties", false}}}});
    }
    form["allOf"] = std::move(all_of);
    return form;
  }

  // {_target: some.path.Name, params: {...}}.
  static Json NestedForm(const Json& name,
                         const std::vector<const Component*>& components) {
    Json form = {{"type", "object"},
                 {"properties",
                  {{"_target", name},
                   {"params", {{"type", Json::array({"object", "null"})}}}}},
                 {"required", Json::array({"_target"})},
                 {"additionalProperties", false}};
    Json all_of = Json::array();
    for (const Component* component : components) {
      Json params = {{"$ref", DefOf(*component)},
                     {"unevaluatedProperties", false}};
      const bool needs_any = std::any_of(
          component->parameters.begin(), component->parameters.end(),
          [](const Parameter& parameter) { return parameter.required; });
      Json then = Json::object();
      if (needs_any) {
        then["required"] = Json::array({"params"});
      } else {
        params = AnyOf({std::move(params), {{"type", "null"}}});
      }
      then["properties"]["params"] = std::move(params);
      all_of.push_back(
          {{"if", IsNamed("_target", *component)}, {"then", std::move(then)}});
    }
    form["allOf"] = std::move(all_of);
    return form;
  }

  static std::string DefOf(const Component& component) {
    return "#/$defs/" + component.kind + "." + component.name;
  }

  // A named object may be of any kind, or a list of such.
  Json AnyComponent() const {
    std::vector<Json> kinds = {Ref("reference")};
    for (const auto& [kind, components] : kinds_) {
      if (kind != "experiment" && kind != "section") kinds.push_back(Ref(kind));
    }
    Json one = AnyOf(std::move(kinds));
    return AnyOf({one, {{"type", "array"}, {"items", one}}});
  }

  Json Experiment(const Component& experiment) {
    Json schema = Parameters(experiment, "");
    schema["additionalProperties"] = Ref("component");
    return schema;
  }

  // What may stand at a parameter.
  Json Value(const Parameter& parameter) {
    const Type type = catalogue::ParseType(parameter.type);
    Json schema = Of(parameter, type);
    if (const auto pattern = client::JobPattern(parameter.name);
        pattern && in_service_keys_) {
      schema = Pattern(*pattern);
    }
    if (parameter.scalar_ok && type.kind == Type::Kind::kSection) {
      schema = AnyOf({Of(parameter, Type{Type::Kind::kInt, nullptr, ""}),
                      std::move(schema)});
    }
    if (!parameter.required)
      schema = AnyOf({std::move(schema), {{"type", "null"}}});
    const std::string text = Description(parameter);
    if (!text.empty()) schema["description"] = text;
    if (!parameter.default_value.is_null()) {
      schema["default"] = parameter.default_value;
    }
    return schema;
  }

  static std::string Description(const Parameter& parameter) {
    std::string accepts = AcceptedText(parameter);
    std::erase(accepts, '`');
    return parameter.help.empty() ? accepts
                                  : parameter.help + " (" + accepts + ")";
  }

  Json Of(const Parameter& parameter, const Type& type) {
    switch (type.kind) {
      case Type::Kind::kAny:
        return Json::object();
      case Type::Kind::kComponent:
        return kinds_.contains(type.argument) ? Ref(type.argument)
                                              : Ref("component");
      case Type::Kind::kSection:
        return Ref("section." + type.argument);
      case Type::Kind::kList: {
        const Json element = Of(parameter, *type.element);
        Json array = {{"type", "array"}, {"items", element}};
        AddItems(parameter, type, "minItems", "maxItems", array);
        Json list = OrSubstituted(std::move(array),
                                  type.element->kind == Type::Kind::kComponent);
        return parameter.scalar_ok ? AnyOf({std::move(list), element}) : list;
      }
      case Type::Kind::kMap: {
        Json map = {{"type", "object"}};
        Parameter element = parameter;
        element.choices.clear();
        if (type.element != nullptr) {
          map["additionalProperties"] = Of(element, *type.element);
        }
        if (!parameter.choices.empty()) {
          map["propertyNames"] = {{"enum", parameter.choices}};
        }
        AddItems(parameter, type, "minProperties", "maxProperties", map);
        return OrSubstituted(std::move(map), false);
      }
      case Type::Kind::kBool:
        return OrSubstituted({{"type", "boolean"}}, false);
      case Type::Kind::kInt:
      case Type::Kind::kFloat:
        return OrSubstituted(NumberSchema(parameter, type), false);
      case Type::Kind::kDuration:
        return OrSubstituted(
            parameter.choices.empty()
                ? Ref("duration")
                : AnyOf({Ref("duration"), {{"enum", parameter.choices}}}),
            false);
      case Type::Kind::kSize:
        return OrSubstituted(Ref("size"), false);
      case Type::Kind::kConstant:
      case Type::Kind::kExpression:
        return OrSubstituted({{"type", Json::array({"number", "string"})}},
                             false);
      case Type::Kind::kEvery:
        return OrSubstituted(Ref("every"), false);
      default:
        return TextSchema(parameter, type);
    }
  }

  // How many values the innermost list or map of a type has.
  static void AddItems(const Parameter& parameter, const Type& type,
                       const char* least, const char* most, Json& schema) {
    if (type.element && (type.element->kind == Type::Kind::kList ||
                         type.element->kind == Type::Kind::kMap)) {
      return;
    }
    if (parameter.min_items) schema[least] = *parameter.min_items;
    if (parameter.max_items) schema[most] = *parameter.max_items;
  }

  static Json NumberSchema(const Parameter& parameter, const Type& type) {
    Json schema = {
        {"type", type.kind == Type::Kind::kInt ? "integer" : "number"}};
    if (parameter.min) {
      schema[parameter.exclusive_min ? "exclusiveMinimum" : "minimum"] =
          Number(*parameter.min);
    }
    if (parameter.max) {
      schema[parameter.exclusive_max ? "exclusiveMaximum" : "maximum"] =
          Number(*parameter.max);
    }
    if (!parameter.numbers.empty()) {
      for (const double number : parameter.numbers) {
        schema["enum"].push_back(Number(number));
      }
    }
    if (parameter.odd) schema["not"] = {{"multipleOf", 2}};
    return schema;
  }

  Json TextSchema(const Parameter& parameter, const Type& type) {
    if (!parameter.choices.empty()) {
      return OrSubstituted({{"enum", parameter.choices}}, false);
    }
    Json schema = {{"type", "string"},
                   {"not", {{"pattern", "^\\$\\{ref:.*\\}$"}}}};
    if (type.kind == Type::Kind::kPath) schema["minLength"] = 1;
    return schema;
  }

  // Within the experiment `${a.b}` may stand in for any value.
  Json OrSubstituted(Json schema, bool or_reference) const {
    if (in_service_keys_) return schema;
    std::vector<Json> schemas = {std::move(schema), Ref("substitution")};
    if (or_reference) schemas.push_back(Ref("reference"));
    return AnyOf(std::move(schemas));
  }

  std::map<std::string, std::vector<const Component*>> kinds_;
  // `${a.b}` is not substituted there.
  bool in_service_keys_ = false;
};

}  // namespace

Json JobSchema(const catalogue::Catalogue& catalogue) {
  return Writer(catalogue).Write();
}

}  // namespace epochd::epochctl
