// SPDX-License-Identifier: Apache-2.0
//
// The walk over an experiment. What single values, references and the whole
// must fulfil is checked by the files named so.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "catalogue/accepted_text.h"
#include "catalogue/catalogue.h"
#include "catalogue/component_form.h"
#include "catalogue/findings.h"
#include "catalogue/parameters.h"
#include "catalogue/references.h"
#include "catalogue/rule_check.h"
#include "catalogue/scalar_check.h"
#include "catalogue/type.h"
#include "catalogue/whole_check.h"

namespace epochd::catalogue {
namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kMostValues = 10000;

// A component's mapping, with the places to report at.
struct Mapping {
  std::string name;
  std::string name_field;
  const Json* parameters = nullptr;
  std::string parameters_field;
  Form form;
};

class Validator {
 public:
  // `named`: whose keys references name; the experiment itself, unless that
  // is one component alone.
  Validator(const Catalogue& catalogue, const ValidateOptions& options,
            const Json& experiment, const Json& named)
      : catalogue_(catalogue),
        options_(options),
        experiment_(experiment),
        named_(named),
        references_(catalogue, experiment) {}

  std::vector<Violation> RunOnComponent(const std::string& kind,
                                        const std::string& field) {
    is_whole_ = false;
    if (Scan()) CheckComponent(kind, experiment_, field);
    return std::move(findings_.violations());
  }

  Validated Run() {
    const std::string& root = options_.root;
    if (!experiment_.is_object()) {
      findings_.Report(root, "expected a mapping, got " + Quoted(experiment_));
    } else if (Scan()) {
      const Component* component = catalogue_.Find("experiment", "Experiment");
      if (component == nullptr) {
        findings_.Report(root, "the catalogue describes no experiment");
      } else {
        CheckParameters(*component, experiment_, root, nullptr);
        references_.CheckCycles(root, findings_);
        const WholeCheck whole(catalogue_, *component, experiment_, root);
        whole.AddDefaults(uses_);
        whole.CheckNeeds(uses_, findings_);
        whole.CheckOneOf(uses_, findings_);
        whole.CheckAlike(uses_, findings_);
        whole.CheckNames(uses_, findings_);
        whole.CheckLosses(uses_, findings_);
        whole.CheckScores(uses_, scores_, findings_);
      }
    }
    result_.violations = std::move(findings_.violations());
    std::set<std::string> components;
    for (const auto& [field, component] : result_.at) {
      components.insert(component->kind + "/" + component->name);
    }
    result_.components.assign(components.begin(), components.end());
    return std::move(result_);
  }

 private:
  // Measures without recursion, collects `${ref:}` names; false: too big.
  bool Scan() {
    std::vector<std::pair<const Json*, size_t>> open = {{&experiment_, 1}};
    size_t values = 0;
    while (!open.empty()) {
      const auto [value, depth] = open.back();
      open.pop_back();
      if (++values > kMostValues) {
        findings_.Report(options_.root, "more than " +
                                            std::to_string(kMostValues) +
                                            " values, the most accepted");
        return false;
      }
      if (depth > kDeepest) {
        findings_.Report(options_.root, "nested deeper than " +
                                            std::to_string(kDeepest) +
                                            " levels, the most accepted");
        return false;
      }
      if (const auto name = RefName(*value)) refs_.insert(*name);
      if (!value->is_structured()) continue;
      for (const Json& child : *value) open.emplace_back(&child, depth + 1);
    }
    return true;
  }

  // Checks the keys and values of `json`, the parameters of `component`, which
  // was written as `form`; nullptr: it is no component's mapping.
  void CheckParameters(const Component& component, const Json& json,
                       const std::string& field, const Form* form) {
    const bool is_experiment = is_whole_ && &json == &experiment_;
    const size_t num_faults = findings_.violations().size();
    std::map<std::string, std::string> given;  // parameter -> key
    for (const auto& [key, value] : json.items()) {
      if (form != nullptr && form->IsOwnKey(key)) continue;
      if (is_experiment) top_ = key;
      const std::string here = AppendKey(field, key);
      const Parameter* parameter = FindParameter(component, key);
      if (parameter == nullptr) {
        CheckUnknown(component, key, value, here);
        continue;
      }
      const auto [other, is_new] = given.emplace(parameter->name, key);
      if (!is_new) {
        findings_.Report(here, "given twice, as '" + other->second + "' and '" +
                                   key + "'; keep one");
        continue;
      }
      if (value.is_null()) {
        given.erase(other);
        continue;
      }
      CheckValue(*parameter, ParseType(parameter->type), value, here);
    }
    for (const Parameter& parameter : component.parameters) {
      if (parameter.required && !given.contains(parameter.name)) {
        findings_.Report(AppendKey(field, parameter.name),
                         "missing, " + component.name + " needs it (" +
                             ValueText(catalogue_, parameter) + ")");
      }
    }
    if (findings_.violations().size() == num_faults) {
      CheckRules(component, json, field, named_, findings_);
    }
  }

  void CheckUnknown(const Component& component, const std::string& key,
                    const Json& value, const std::string& field) {
    std::vector<std::string> known;
    for (const Parameter& parameter : component.parameters) {
      known.push_back(parameter.name);
    }
    if (component.open && IsNamedObject(value)) {
      const auto nearest = Nearest(key, known);
      if (nearest && !refs_.contains(key)) {
        findings_.Report(
            field, "unknown key '" + key + "', did you mean '" + *nearest +
                       "'? (a named object needs a ${ref:" + key + "})");
        return;
      }
      CheckNamedObject(value, field);
      return;
    }
    if (key == "_args_") {
      findings_.Report(field,
                       "arguments by position are not accepted, write them "
                       "by name");
      return;
    }
    std::vector<std::string> candidates = known;
    for (const Parameter& parameter : component.parameters) {
      candidates.insert(candidates.end(), parameter.aliases.begin(),
                        parameter.aliases.end());
    }
    const bool has_name = !component.open && component.kind != "section";
    const std::string subject =
        has_name ? component.name + " has no parameter '" + key + "'"
                 : "unknown key '" + key + "'";
    if (const auto nearest = Nearest(key, candidates)) {
      findings_.Report(field, subject + ", did you mean '" + *nearest + "'?");
    } else {
      findings_.Report(field, subject + Hint(key, known));
    }
  }

  void CheckReference(const std::string& name, const std::string& kind,
                      const std::string& field) {
    if (is_whole_) references_.Check(name, kind, field, top_, findings_);
  }

  // Checks an object whose kind nothing tells: it may be of any.
  void CheckNamedObject(const Json& value, const std::string& field) {
    if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) {
        CheckNamedObject(value[i], AppendIndex(field, i));
      }
      return;
    }
    if (const auto name = RefName(value)) {
      CheckReference(*name, "", field);
      return;
    }
    const std::optional<Mapping> mapping = ReadMapping(value, field);
    if (!mapping) return;
    const auto found = catalogue_.FindAll(mapping->name);
    if (found.empty()) {
      findings_.Report(mapping->name_field,
                       "unknown component '" + mapping->name + "'" +
                           Hint(mapping->name, NamesOfKind("")));
      return;
    }
    // Where several kinds share the name, the one that fits best was meant.
    const Component* best = found.front();
    size_t fewest = std::numeric_limits<size_t>::max();
    for (const Component* candidate : found) {
      if (found.size() == 1) break;
      Validator trial(catalogue_, options_, experiment_, named_);
      trial.refs_ = refs_;
      trial.CheckParameters(*candidate, *mapping->parameters, field,
                            &mapping->form);
      const size_t faults = trial.findings_.violations().size();
      if (faults < fewest) {
        best = candidate;
        fewest = faults;
      }
    }
    CheckFound(*best, *mapping, field);
  }

  void CheckValue(const Parameter& parameter, const Type& type,
                  const Json& value, const std::string& field) {
    switch (type.kind) {
      case Type::Kind::kAny:
        CheckAny(value, field);
        return;
      case Type::Kind::kComponent:
        CheckComponent(type.argument, value, field);
        return;
      case Type::Kind::kSection:
        CheckSection(type.argument, value, field);
        return;
      case Type::Kind::kList:
      case Type::Kind::kMap:
        CheckCollection(parameter, type, value, field);
        return;
      default:
        break;
    }
    if (auto fault = CheckScalar(parameter, type, value)) {
      findings_.Report(field, *std::move(fault));
    } else if (type.kind == Type::Kind::kPath) {
      result_.paths.push_back(field);
    } else if (type.kind == Type::Kind::kScore) {
      scores_.push_back({field, value.get<std::string>()});
    }
  }

  void CheckAny(const Json& value, const std::string& field) {
    if (const auto name = RefName(value)) {
      CheckReference(*name, "", field);
    }
    if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) {
        CheckAny(value[i], AppendIndex(field, i));
      }
    } else if (value.is_object()) {
      for (const auto& [key, child] : value.items()) {
        CheckAny(child, AppendKey(field, key));
      }
    }
  }

  void CheckCollection(const Parameter& parameter, const Type& type,
                       const Json& value, const std::string& field) {
    const size_t num_faults = findings_.violations().size();
    if (type.kind == Type::Kind::kList) {
      CheckList(parameter, type, value, field);
    } else {
      CheckMap(parameter, type, value, field);
    }
    const bool is_innermost =
        type.element == nullptr || (type.element->kind != Type::Kind::kList &&
                                    type.element->kind != Type::Kind::kMap);
    if (is_innermost && !RefName(value) &&
        findings_.violations().size() == num_faults) {
      CheckItems(parameter, value, field, findings_);
    }
  }

  void CheckList(const Parameter& parameter, const Type& type,
                 const Json& value, const std::string& field) {
    if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) {
        CheckValue(parameter, *type.element, value[i], AppendIndex(field, i));
      }
    } else if (parameter.scalar_ok ||
               (type.element->kind == Type::Kind::kComponent &&
                RefName(value))) {
      CheckValue(parameter, *type.element, value, field);
    } else {
      findings_.Report(field, "expected a list, got " + Quoted(value));
    }
  }

  void CheckMap(const Parameter& parameter, const Type& type, const Json& value,
                const std::string& field) {
    if (!value.is_object()) {
      findings_.Report(field, "expected a mapping, got " + Quoted(value));
      return;
    }
    // They are keys: of the values, nothing is said.
    Parameter element = parameter;
    element.choices.clear();
    const std::vector<std::string>& keys = parameter.choices;
    for (const auto& [key, child] : value.items()) {
      const std::string here = AppendKey(field, key);
      if (!keys.empty() &&
          std::find(keys.begin(), keys.end(), key) == keys.end()) {
        findings_.Report(here, "unknown key '" + key + "'" + Hint(key, keys));
      } else if (type.element == nullptr) {
        CheckAny(child, here);
      } else {
        CheckValue(element, *type.element, child, here);
      }
    }
  }

  void CheckSection(const std::string& name, const Json& value,
                    const std::string& field) {
    const Component* section = catalogue_.Find("section", name);
    if (!value.is_object()) {
      findings_.Report(field, "expected a mapping, got " + Quoted(value));
    } else if (section != nullptr) {
      CheckParameters(*section, value, field, nullptr);
      uses_.push_back({section, &value, field});
    }
  }

  void CheckComponent(const std::string& kind, const Json& value,
                      const std::string& field) {
    if (const auto name = RefName(value)) {
      CheckReference(*name, kind, field);
      return;
    }
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      findings_.Report(
          field, "expected " + WithArticle(kind) + " as a mapping, got " +
                     Quoted(value) + ", write {type: " +
                     (catalogue_.Find(kind, text) != nullptr ? text : "Name") +
                     "}");
      return;
    }
    const std::optional<Mapping> mapping = ReadMapping(value, field, kind);
    if (!mapping) return;
    const Component* component = catalogue_.Find(kind, mapping->name);
    if (component != nullptr) {
      CheckFound(*component, *mapping, field);
      return;
    }
    const auto others = catalogue_.FindAll(mapping->name);
    if (!others.empty()) {
      findings_.Report(mapping->name_field,
                       "'" + mapping->name + "' is " +
                           WithArticle(others.front()->kind) + ", expected " +
                           WithArticle(kind));
      return;
    }
    findings_.Report(mapping->name_field,
                     "unknown " + kind + " '" + mapping->name + "'" +
                         Hint(mapping->name, NamesOfKind(kind)));
  }

  // Reads any form of a component; reports what is malformed.
  std::optional<Mapping> ReadMapping(const Json& value,
                                     const std::string& field,
                                     const std::string& kind = "component") {
    if (!value.is_object()) {
      findings_.Report(field, "expected " + WithArticle(kind) +
                                  " {type: Name, ...}, got " + Quoted(value));
      return std::nullopt;
    }
    const std::optional<Form> form = ReadForm(value);
    if (!form) {
      findings_.Report(AppendKey(field, "type"),
                       "missing, names the " + kind + ": {type: Name, ...}");
      return std::nullopt;
    }
    if (!form->second_key.empty()) {
      findings_.Report(AppendKey(field, form->second_key),
                       "given beside '" + std::string(form->key) +
                           "', which means the same; keep one");
      return std::nullopt;
    }
    Mapping mapping;
    mapping.form = *form;
    mapping.name = form->Name();
    mapping.name_field = AppendKey(field, form->key);
    if (mapping.name.empty()) {
      findings_.Report(mapping.name_field, "expected the name of " +
                                               WithArticle(kind) + ", got " +
                                               Quoted(*form->name));
      return std::nullopt;
    }
    mapping.parameters = form->parameters;
    mapping.parameters_field =
        form->IsNested() ? AppendKey(field, "params") : field;
    if (form->IsNested()) CheckBesideTarget(value, field);
    if (mapping.parameters == nullptr) {
      findings_.Report(mapping.parameters_field,
                       "expected a mapping, got " + Quoted(value.at("params")));
      static const Json kNone = Json::object();
      mapping.parameters = &kNone;
    }
    return mapping;
  }

  void CheckBesideTarget(const Json& value, const std::string& field) {
    for (const auto& [key, child] : value.items()) {
      if (key == "_target" || key == "params") continue;
      findings_.Report(
          AppendKey(field, key),
          "unknown key '" + key + "' beside _target, known is params");
    }
  }

  void CheckFound(const Component& component, const Mapping& mapping,
                  const std::string& field) {
    result_.at.emplace(field, &component);
    uses_.push_back({&component, mapping.parameters, field});
    if (options_.max_replicas && component.max_replicas &&
        *options_.max_replicas > *component.max_replicas &&
        limited_.insert(&component).second) {
      findings_.Report(
          "resources.replicas",
          component.name + " (" + field + ") runs on at most " +
              std::to_string(*component.max_replicas) +
              (*component.max_replicas == 1 ? " replica" : " replicas") +
              ", got " + std::to_string(*options_.max_replicas));
    }
    CheckParameters(component, *mapping.parameters, mapping.parameters_field,
                    &mapping.form);
  }

  std::vector<std::string> NamesOfKind(std::string_view kind) const {
    std::vector<std::string> names;
    std::vector<std::string> aliases;
    for (const Component& component : catalogue_.components) {
      const bool is_no_object =
          component.kind == "experiment" || component.kind == "section";
      if (kind.empty() ? is_no_object : component.kind != kind) continue;
      names.push_back(component.name);
      aliases.insert(aliases.end(), component.aliases.begin(),
                     component.aliases.end());
    }
    names.insert(names.end(), aliases.begin(), aliases.end());
    return names;
  }

  const Catalogue& catalogue_;
  const ValidateOptions& options_;
  const Json& experiment_;
  const Json& named_;
  // Or it is a component alone, whose references are not checked.
  bool is_whole_ = true;
  // Key of the experiment that is being checked.
  std::string top_;
  std::set<std::string> refs_;
  std::set<const Component*> limited_;
  References references_;
  std::vector<Use> uses_;
  std::vector<AskedScore> scores_;
  Findings findings_;
  Validated result_;
};

}  // namespace

Validated Validate(const Catalogue& catalogue, const Json& experiment,
                   const ValidateOptions& options) {
  return Validator(catalogue, options, experiment, experiment).Run();
}

std::vector<Violation> ValidateComponent(const Catalogue& catalogue,
                                         const std::string& kind,
                                         const Json& value,
                                         const std::string& field,
                                         const Json& named) {
  ValidateOptions options;
  options.root = field;
  return Validator(catalogue, options, value, named)
      .RunOnComponent(kind, field);
}

}  // namespace epochd::catalogue
