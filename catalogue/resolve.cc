// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "catalogue/catalogue.h"
#include "catalogue/component_form.h"
#include "catalogue/parameters.h"
#include "catalogue/references.h"
#include "catalogue/type.h"

namespace epochd::catalogue {
namespace {

class Resolver {
 public:
  Resolver(const Catalogue& catalogue, Validated validated)
      : catalogue_(catalogue), validated_(std::move(validated)) {}

  Json Experiment(const Component& component, const Json& experiment,
                  const std::string& root) const {
    Json result = Json::object();
    for (const auto& [key, value] : experiment.items()) {
      if (value.is_null()) continue;
      const std::string field = AppendKey(root, key);
      const Parameter* parameter = FindParameter(component, key);
      result[key] = parameter == nullptr
                        ? NamedObject(value, field)
                        : Value(ParseType(parameter->type), value, field);
    }
    for (const Parameter& parameter : component.parameters) {
      AddDefault(parameter, experiment, root, result);
    }
    return result;
  }

 private:
  // Parameters under their declared names, in declared order.
  void AddParameters(const Component& component, const Json& given,
                     const std::string& field, Json& result) const {
    for (const Parameter& parameter : component.parameters) {
      for (const auto& [key, value] : given.items()) {
        if (value.is_null() || FindParameter(component, key) != &parameter) {
          continue;
        }
        result[parameter.name] =
            Value(ParseType(parameter.type), value, AppendKey(field, key));
      }
      AddDefault(parameter, given, field, result);
    }
  }

  void AddDefault(const Parameter& parameter, const Json& given,
                  const std::string& field, Json& result) const {
    if (parameter.default_value.is_null() ||
        FindGiven(parameter, given) != nullptr) {
      return;
    }
    result[parameter.name] =
        Value(ParseType(parameter.type), parameter.default_value,
              AppendKey(field, parameter.name));
  }

  Json Value(const Type& type, const Json& value,
             const std::string& field) const {
    switch (type.kind) {
      case Type::Kind::kComponent: {
        const std::optional<Form> form = ReadForm(value);
        if (!form) return value;
        return FromForm(catalogue_.Find(type.argument, form->Name()), *form,
                        value, field);
      }
      case Type::Kind::kSection: {
        const Component* section = catalogue_.Find("section", type.argument);
        if (section == nullptr || !value.is_object()) return value;
        Json result = Json::object();
        AddParameters(*section, value, field, result);
        return result;
      }
      case Type::Kind::kList: {
        if (!value.is_array()) return Value(*type.element, value, field);
        Json result = Json::array();
        for (size_t i = 0; i < value.size(); ++i) {
          result.push_back(
              Value(*type.element, value[i], AppendIndex(field, i)));
        }
        return result;
      }
      case Type::Kind::kMap: {
        if (type.element == nullptr || !value.is_object()) return value;
        Json result = Json::object();
        for (const auto& [key, child] : value.items()) {
          if (child.is_null()) continue;
          result[key] = Value(*type.element, child, AppendKey(field, key));
        }
        return result;
      }
      default:
        return value;
    }
  }

  Json NamedObject(const Json& value, const std::string& field) const {
    if (value.is_array()) {
      Json result = Json::array();
      for (size_t i = 0; i < value.size(); ++i) {
        result.push_back(NamedObject(value[i], AppendIndex(field, i)));
      }
      return result;
    }
    const std::optional<Form> form = ReadForm(value);
    const auto found = validated_.at.find(field);
    if (!form || found == validated_.at.end()) return value;
    return FromForm(found->second, *form, value, field);
  }

  Json FromForm(const Component* component, const Form& form, const Json& value,
                const std::string& field) const {
    if (component == nullptr || form.parameters == nullptr) return value;
    Json result = {{"type", component->name}};
    AddParameters(*component, *form.parameters,
                  form.IsNested() ? AppendKey(field, "params") : field, result);
    return result;
  }

  const Catalogue& catalogue_;
  const Validated validated_;
};

}  // namespace

Json Resolve(const Catalogue& catalogue, const Json& experiment) {
  const ValidateOptions options;
  const Component* component = catalogue.Find("experiment", "Experiment");
  if (component == nullptr || !experiment.is_object()) return experiment;
  return Resolver(catalogue, Validate(catalogue, experiment, options))
      .Experiment(*component, experiment, options.root);
}

}  // namespace epochd::catalogue
