// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/registry.h"

#include <stdexcept>

#include "worker/engine/registry/loader_parameters.h"

namespace epochd::engine {
namespace {

bool Declares(const catalogue::Component& component, std::string_view name) {
  for (const catalogue::Parameter& parameter : component.parameters) {
    if (parameter.name == name) return true;
  }
  return false;
}

}  // namespace

void Registry::Declare(catalogue::Component component) {
  if (frozen_) throw std::logic_error("registry: frozen");
  if (catalogue_.Find(component.kind, component.name) != nullptr) {
    throw std::logic_error("registry: " + component.kind + " \"" +
                           component.name + "\" is there already");
  }
  // Gives every loss a weight and every data set the loader's parameters, as
  // these belong to the place where they stand, not to the component.
  if (component.kind == "loss" && !Declares(component, "weight")) {
    catalogue::Parameter weight{.name = "weight", .type = "float"};
    weight.default_value = 1.0;
    weight.help = "factor in the sum of losses";
    component.parameters.push_back(std::move(weight));
  }
  if (component.kind == "dataset") {
    for (catalogue::Parameter& parameter : LoaderParameters()) {
      if (!Declares(component, parameter.name)) {
        component.parameters.push_back(std::move(parameter));
      }
    }
  }
  if (component.kind == "hook") {
    for (catalogue::Parameter& parameter : HookParameters()) {
      component.parameters.push_back(std::move(parameter));
    }
  }
  catalogue_.components.push_back(std::move(component));
}

void Registry::AddErased(std::type_index type, catalogue::Component component,
                         Maker maker) {
  auto [kind, is_new] = kinds_.emplace(type, component.kind);
  if (kind->second != component.kind) {
    throw std::logic_error("registry: \"" + component.name + "\" is of kind " +
                           component.kind + ", others of its type of kind " +
                           kind->second);
  }
  std::string key = component.kind + "/" + component.name;
  Declare(std::move(component));
  makers_.emplace(std::move(key), std::move(maker));
}

const std::string& Registry::KindOf(std::type_index type) const {
  auto found = kinds_.find(type);
  if (found == kinds_.end()) {
    throw std::logic_error(std::string("registry: no entries of type ") +
                           type.name());
  }
  return found->second;
}

const Registry::Maker& Registry::MakerOf(
    const catalogue::Component& component) const {
  auto found = makers_.find(component.kind + "/" + component.name);
  if (found == makers_.end()) {
    throw std::logic_error("registry: \"" + component.name +
                           "\" is only declared");
  }
  return found->second;
}

std::string ComponentName(const catalogue::Json& value) {
  if (!value.is_object()) return "";
  for (const char* key : {"type", "_target"}) {
    auto found = value.find(key);
    if (found != value.end() && found->is_string()) {
      return found->get<std::string>();
    }
  }
  return "";
}

catalogue::Json Complete(const catalogue::Component& component,
                         const catalogue::Json& value) {
  const bool is_target = value.contains("_target");
  static const catalogue::Json kNone = catalogue::Json::object();
  const catalogue::Json& given =
      !is_target ? value : (value.contains("params") ? value["params"] : kNone);
  catalogue::Json complete = catalogue::Json::object();
  for (const catalogue::Parameter& parameter : component.parameters) {
    auto found = given.find(parameter.name);
    for (const std::string& alias : parameter.aliases) {
      if (found == given.end()) found = given.find(alias);
    }
    if (found != given.end()) {
      complete[parameter.name] = *found;
    } else if (!parameter.default_value.is_null()) {
      complete[parameter.name] = parameter.default_value;
    }
  }
  return complete;
}

}  // namespace epochd::engine
