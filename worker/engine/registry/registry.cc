// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/registry.h"

#include <stdexcept>

#include "catalogue/component_form.h"
#include "catalogue/parameters.h"
#include "worker/engine/registry/loader_parameters.h"

namespace epochd::engine {
namespace {

// What a loss or metric that does not say so adds to a run: its value by phase,
// under its name. Where the name is no parameter, only the run tells.
std::vector<std::string> GivenScores(const catalogue::Component& component) {
  if (component.kind != "loss" && component.kind != "metric") return {};
  if (catalogue::FindParameter(component, "name") == nullptr) return {"*"};
  std::vector<std::string> scores = {"val/{name}", "test/{name}"};
  if (component.kind == "loss") scores.emplace_back("train/{name}");
  return scores;
}

// The loader's keys, but those of transforms, which each data set may have.
std::vector<catalogue::Json> LoaderKeys() {
  std::vector<catalogue::Json> keys;
  for (const catalogue::Parameter& parameter : LoaderParameters()) {
    if (parameter.name == "transforms") continue;
    keys.emplace_back(parameter.name);
    for (const std::string& alias : parameter.aliases) keys.emplace_back(alias);
  }
  return keys;
}

// What a loss that does not say so reads of a batch: what these parameters
// name.
std::vector<std::string> FieldsOf(const catalogue::Component& loss) {
  std::vector<std::string> fields;
  for (const char* name : {"output", "target", "real", "fake"}) {
    if (catalogue::FindParameter(loss, name) != nullptr) {
      fields.push_back("{" + std::string(name) + "}");
    }
  }
  return fields;
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
  if (component.kind == "loss" &&
      catalogue::FindParameter(component, "weight") == nullptr) {
    catalogue::Parameter weight{.name = "weight", .type = "float"};
    weight.default_value = 1.0;
    weight.help = "factor in the sum of losses";
    component.parameters.push_back(std::move(weight));
  }
  if (component.kind == "dataset") {
    for (catalogue::Parameter& parameter : LoaderParameters()) {
      if (catalogue::FindParameter(component, parameter.name) == nullptr) {
        component.parameters.push_back(std::move(parameter));
      }
    }
  }
  if (component.kind == "dataset") {
    for (catalogue::Rule& rule : LoaderRules()) {
      component.rules.push_back(std::move(rule));
    }
    // What is loaded is the data set around others.
    for (const catalogue::Parameter& parameter : component.parameters) {
      if (parameter.type.find("component<dataset>") == std::string::npos) {
        continue;
      }
      component.rules.push_back({.check = catalogue::Rule::Check::kAbsent,
                                 .of = {parameter.name},
                                 .values = LoaderKeys()});
    }
  }
  if (component.kind == "loss" && component.reads.empty()) {
    component.reads = FieldsOf(component);
  }
  if (component.kind == "model") {
    for (catalogue::Parameter& parameter : ModelParameters()) {
      component.parameters.push_back(std::move(parameter));
    }
  }
  if (component.kind == "hook") {
    for (catalogue::Parameter& parameter : HookParameters()) {
      component.parameters.push_back(std::move(parameter));
    }
  }
  if (component.gives.empty()) component.gives = GivenScores(component);
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
  const auto form = catalogue::ReadForm(value);
  return form ? form->Name() : "";
}

catalogue::Json Complete(const catalogue::Component& component,
                         const catalogue::Json& value) {
  const auto form = catalogue::ReadForm(value);
  // A section, or the experiment, is its own mapping of parameters.
  const catalogue::Json& given =
      form && form->parameters != nullptr ? *form->parameters : value;
  catalogue::Json complete = catalogue::Json::object();
  for (const catalogue::Parameter& parameter : component.parameters) {
    if (const auto* found = catalogue::FindGiven(parameter, given)) {
      complete[parameter.name] = *found;
    } else if (!parameter.default_value.is_null()) {
      complete[parameter.name] = parameter.default_value;
    }
  }
  return complete;
}

}  // namespace epochd::engine
