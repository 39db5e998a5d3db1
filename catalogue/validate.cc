// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "catalogue/catalogue.h"
#include "catalogue/type.h"

namespace epochd::catalogue {
namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kMostValues = 10000;
// Beyond this nobody reads on, and a hostile spec must not cost more.
constexpr size_t kMostViolations = 200;

std::string Quoted(const Json& value) {
  constexpr size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string Number(double value) {
  constexpr double kExact = 1e15;
  if (value == std::floor(value) && std::abs(value) < kExact) {
    return std::to_string(static_cast<int64_t>(value));
  }
  return Json(value).dump();
}

std::string WithArticle(const std::string& noun) {
  const bool is_vowel = !noun.empty() && std::string_view("aeiou").find(
                                             noun[0]) != std::string::npos;
  return (is_vowel ? "an " : "a ") + noun;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) {
    if (!result.empty()) result += ", ";
    result += word;
  }
  return result;
}

// Says what was meant, or else what there is.
std::string Hint(std::string_view word, const std::vector<std::string>& known) {
  if (const auto nearest = Nearest(word, known)) {
    return ", did you mean '" + *nearest + "'?";
  }
  if (known.empty()) return "";
  constexpr size_t kMostNames = 24;
  if (known.size() <= kMostNames) return ", known are " + Joined(known);
  return ", known are " + Joined({known.begin(), known.begin() + kMostNames}) +
         " and " + std::to_string(known.size() - kMostNames) + " more";
}

// Gives x of `${ref:x}`.
std::optional<std::string> RefName(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (!text.starts_with("${ref:") || !text.ends_with("}")) return std::nullopt;
  return text.substr(6, text.size() - 7);
}

bool IsComponent(const Json& value) {
  return value.is_object() &&
         (value.contains("type") || value.contains("_target"));
}

bool IsNamedObject(const Json& value) {
  if (IsComponent(value) || RefName(value)) return true;
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& element) {
           return IsComponent(element) || RefName(element).has_value();
         });
}

// The name that a component's mapping gives, and what its parameters are.
struct Mapping {
  std::string name;
  std::string name_field;
  const Json* parameters = nullptr;
  std::string parameters_field;
  // Key of `parameters` that is the name.
  std::string_view name_key;
};

class Validator {
 public:
  Validator(const Catalogue& catalogue, const ValidateOptions& options)
      : catalogue_(catalogue), options_(options) {}

  Validated Run(const Json& experiment) {
    const std::string& root = options_.root;
    if (!experiment.is_object()) {
      Report(root, "expected a mapping, got " + Quoted(experiment));
    } else if (Scan(experiment)) {
      const Component* component = catalogue_.Find("experiment", "Experiment");
      if (component == nullptr) {
        Report(root, "the catalogue describes no experiment");
      } else {
        experiment_ = &experiment;
        CheckParameters(*component, experiment, root, "");
        CheckRefCycles();
      }
    }
    result_.components.assign(components_.begin(), components_.end());
    return std::move(result_);
  }

 private:
  void Report(const std::string& field, std::string description) {
    if (result_.violations.size() < kMostViolations) {
      result_.violations.push_back({field, std::move(description)});
    }
  }

  // Measures without recursion, collects `${ref:}` names; false: too big.
  bool Scan(const Json& experiment) {
    std::vector<std::pair<const Json*, size_t>> open = {{&experiment, 1}};
    size_t values = 0;
    while (!open.empty()) {
      const auto [value, depth] = open.back();
      open.pop_back();
      if (++values > kMostValues) {
        Report(options_.root, "more than " + std::to_string(kMostValues) +
                                  " values, the most accepted");
        return false;
      }
      if (depth > kDeepest) {
        Report(options_.root, "nested deeper than " + std::to_string(kDeepest) +
                                  " levels, the most accepted");
        return false;
      }
      if (const auto name = RefName(*value)) refs_.insert(*name);
      if (!value->is_structured()) continue;
      for (const Json& child : *value) open.emplace_back(&child, depth + 1);
    }
    return true;
  }

  // Checks the keys and values of `json`, the parameters of `component`.
  // `name_key` is the key that named the component.
  void CheckParameters(const Component& component, const Json& json,
                       const std::string& field, std::string_view name_key) {
    const bool is_experiment = &json == experiment_;
    std::map<std::string, std::string> given;  // parameter -> key
    for (const auto& [key, value] : json.items()) {
      if (key == name_key) continue;
      if (is_experiment) top_ = key;
      const std::string here = AppendKey(field, key);
      const Parameter* parameter = FindParameter(component, key);
      if (parameter == nullptr) {
        CheckUnknown(component, key, value, here);
        continue;
      }
      const auto [other, is_new] = given.emplace(parameter->name, key);
      if (!is_new) {
        Report(here, "given twice, as '" + other->second + "' and '" + key +
                         "'; keep one");
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
        Report(AppendKey(field, parameter.name), "missing, " + component.name +
                                                     " needs it (" +
                                                     parameter.type + ")");
      }
    }
  }

  static const Parameter* FindParameter(const Component& component,
                                        const std::string& key) {
    for (const Parameter& parameter : component.parameters) {
      if (parameter.name == key ||
          std::find(parameter.aliases.begin(), parameter.aliases.end(), key) !=
              parameter.aliases.end()) {
        return &parameter;
      }
    }
    return nullptr;
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
        Report(field, "unknown key '" + key + "', did you mean '" + *nearest +
                          "'? (a named object needs a ${ref:" + key + "})");
        return;
      }
      CheckNamedObject(value, field);
      return;
    }
    std::vector<std::string> candidates = known;
    for (const Parameter& parameter : component.parameters) {
      candidates.insert(candidates.end(), parameter.aliases.begin(),
                        parameter.aliases.end());
    }
    const std::string subject =
        component.open ? "unknown key '" + key + "'"
                       : component.name + " has no parameter '" + key + "'";
    if (const auto nearest = Nearest(key, candidates)) {
      Report(field, subject + ", did you mean '" + *nearest + "'?");
    } else {
      Report(field, subject + Hint(key, known));
    }
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
      CheckRef(*name, "", field);
      return;
    }
    const std::optional<Mapping> mapping = ReadMapping(value, field);
    if (!mapping) return;
    const auto found = catalogue_.FindAll(mapping->name);
    if (found.empty()) {
      Report(mapping->name_field, "unknown component '" + mapping->name + "'" +
                                      Hint(mapping->name, NamesOfKind("")));
      return;
    }
    // Where several kinds share the name, the one that fits best was meant.
    const Component* best = found.front();
    size_t fewest = std::numeric_limits<size_t>::max();
    for (const Component* candidate : found) {
      if (found.size() == 1) break;
      Validator trial(catalogue_, options_);
      trial.refs_ = refs_;
      trial.experiment_ = experiment_;
      trial.CheckParameters(*candidate, *mapping->parameters, field,
                            mapping->name_key);
      if (trial.result_.violations.size() < fewest) {
        best = candidate;
        fewest = trial.result_.violations.size();
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
        CheckComponent(type.component_kind, value, field);
        return;
      case Type::Kind::kList:
        CheckList(parameter, type, value, field);
        return;
      case Type::Kind::kMap:
        CheckMap(parameter, type, value, field);
        return;
      default:
        CheckScalar(parameter, type, value, field);
    }
  }

  void CheckAny(const Json& value, const std::string& field) {
    if (const auto name = RefName(value)) CheckRef(*name, "", field);
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
      Report(field, "expected a list, got " + Quoted(value));
    }
  }

  void CheckMap(const Parameter& parameter, const Type& type, const Json& value,
                const std::string& field) {
    if (!value.is_object()) {
      Report(field, "expected a mapping, got " + Quoted(value));
      return;
    }
    for (const auto& [key, child] : value.items()) {
      const std::string here = AppendKey(field, key);
      if (type.element == nullptr) {
        CheckAny(child, here);
      } else {
        CheckValue(parameter, *type.element, child, here);
      }
    }
  }

  void CheckScalar(const Parameter& parameter, const Type& type,
                   const Json& value, const std::string& field) {
    switch (type.kind) {
      case Type::Kind::kBool:
        if (!value.is_boolean()) {
          Report(field, "expected true or false, got " + Quoted(value));
        }
        return;
      case Type::Kind::kInt:
      case Type::Kind::kFloat:
        CheckNumber(parameter, type, value, field);
        return;
      case Type::Kind::kDuration:
        if (!value.is_string() ||
            !ParseDuration(value.get_ref<const std::string&>())) {
          Report(field, "expected a duration such as 90s, 10m or 2h, got " +
                            Quoted(value));
        }
        return;
      case Type::Kind::kEvery:
        if (!value.is_string() ||
            !ParseEvery(value.get_ref<const std::string&>())) {
          Report(field,
                 "expected '1 epoch', '100 steps' or a duration such as 10m, "
                 "got " +
                     Quoted(value));
        }
        return;
      default:
        CheckText(parameter, type, value, field);
    }
  }

  void CheckNumber(const Parameter& parameter, const Type& type,
                   const Json& value, const std::string& field) {
    const bool is_int = type.kind == Type::Kind::kInt;
    const bool fits = is_int ? value.is_number_integer() : value.is_number();
    if (!fits) {
      std::string description = std::string("expected ") +
                                (is_int ? "an integer" : "a number") +
                                ", got " + Quoted(value);
      if (value.is_string() && LooksLikeNumber(value)) {
        description += ", which is text (write it without quotes, as 0.0002)";
      }
      Report(field, std::move(description));
      return;
    }
    if (value.is_number_unsigned() &&
        value.get<uint64_t>() >
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      Report(field, "too large, got " + Quoted(value));
      return;
    }
    const double number = value.get<double>();
    if (!std::isfinite(number)) {
      Report(field, "expected a finite number, got " + Quoted(value));
    } else if (parameter.min &&
               (number < *parameter.min ||
                (parameter.exclusive_min && number == *parameter.min))) {
      Report(field, std::string("expected ") +
                        (parameter.exclusive_min ? "more than " : "at least ") +
                        Number(*parameter.min) + ", got " + Quoted(value));
    } else if (parameter.max && number > *parameter.max) {
      Report(field, "expected at most " + Number(*parameter.max) + ", got " +
                        Quoted(value));
    }
  }

  static bool LooksLikeNumber(const Json& value) {
    const auto& text = value.get_ref<const std::string&>();
    return !text.empty() &&
           text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  }

  void CheckText(const Parameter& parameter, const Type& type,
                 const Json& value, const std::string& field) {
    if (!value.is_string()) {
      std::string description = "expected text, got " + Quoted(value);
      if (value.is_primitive()) description += " (write it in quotes)";
      Report(field, std::move(description));
      return;
    }
    const auto& text = value.get_ref<const std::string&>();
    if (RefName(value)) {
      Report(field, "expected text, got a reference " + Quoted(value));
    } else if (text.starts_with("${") && text.ends_with("}")) {
      Report(field, Quoted(value) + " was not substituted");
    } else if (!parameter.choices.empty() &&
               std::find(parameter.choices.begin(), parameter.choices.end(),
                         text) == parameter.choices.end()) {
      Report(field,
             "unknown value " + Quoted(value) + Hint(text, parameter.choices));
    } else if (type.kind == Type::Kind::kPath) {
      CheckPath(value, field);
    }
  }

  void CheckPath(const Json& value, const std::string& field) {
    constexpr size_t kLongestPath = 4096;
    const auto& text = value.get_ref<const std::string&>();
    if (text.empty() || text.size() > kLongestPath ||
        text.find('\0') != std::string::npos) {
      Report(field, "expected a path, got " + Quoted(value));
      return;
    }
    result_.paths.push_back(field);
  }

  void CheckComponent(const std::string& kind, const Json& value,
                      const std::string& field) {
    if (const auto name = RefName(value)) {
      CheckRef(*name, kind, field);
      return;
    }
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      Report(field,
             "expected " + WithArticle(kind) + " as a mapping, got " +
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
      Report(mapping->name_field, "'" + mapping->name + "' is " +
                                      WithArticle(others.front()->kind) +
                                      ", expected " + WithArticle(kind));
      return;
    }
    Report(mapping->name_field, "unknown " + kind + " '" + mapping->name + "'" +
                                    Hint(mapping->name, NamesOfKind(kind)));
  }

  // Reads either form of a component; reports what is malformed.
  std::optional<Mapping> ReadMapping(const Json& value,
                                     const std::string& field,
                                     const std::string& kind = "component") {
    if (!value.is_object()) {
      Report(field, "expected " + WithArticle(kind) +
                        " {type: Name, ...}, got " + Quoted(value));
      return std::nullopt;
    }
    const bool has_type = value.contains("type");
    const bool has_target = value.contains("_target");
    if (!has_type && !has_target) {
      Report(AppendKey(field, "type"),
             "missing, names the " + kind + ": {type: Name, ...}");
      return std::nullopt;
    }
    if (has_type && has_target) {
      Report(AppendKey(field, "_target"),
             "given beside 'type', which means the same; keep one");
      return std::nullopt;
    }
    Mapping mapping;
    mapping.name_key = has_type ? "type" : "_target";
    mapping.name_field = AppendKey(field, mapping.name_key);
    const Json& name = value.at(std::string(mapping.name_key));
    if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
      Report(mapping.name_field, "expected the name of " + WithArticle(kind) +
                                     ", got " + Quoted(name));
      return std::nullopt;
    }
    mapping.name = name.get<std::string>();
    if (has_type) {
      mapping.parameters = &value;
      mapping.parameters_field = field;
      return mapping;
    }
    static const Json kNone = Json::object();
    mapping.parameters = &kNone;
    mapping.parameters_field = AppendKey(field, "params");
    for (const auto& [key, child] : value.items()) {
      if (key == "_target") continue;
      if (key != "params") {
        Report(AppendKey(field, key),
               "unknown key '" + key + "' beside _target, known is params");
      } else if (child.is_object()) {
        mapping.parameters = &child;
      } else if (!child.is_null()) {
        Report(mapping.parameters_field,
               "expected a mapping, got " + Quoted(child));
      }
    }
    return mapping;
  }

  void CheckFound(const Component& component, const Mapping& mapping,
                  const std::string& field) {
    components_.insert(component.kind + "/" + component.name);
    if (options_.max_replicas && component.max_replicas &&
        *options_.max_replicas > *component.max_replicas &&
        limited_.insert(&component).second) {
      Report("resources.replicas",
             component.name + " (" + field + ") runs on at most " +
                 std::to_string(*component.max_replicas) +
                 (*component.max_replicas == 1 ? " replica" : " replicas") +
                 ", got " + std::to_string(*options_.max_replicas));
    }
    CheckParameters(component, *mapping.parameters, mapping.parameters_field,
                    mapping.name_key);
  }

  // Checks that `name` is an object of the experiment, of `kind` if not empty.
  void CheckRef(const std::string& name, const std::string& kind,
                const std::string& field) {
    std::vector<std::string> known;
    for (const auto& [key, value] : experiment_->items()) {
      if (IsNamedObject(value)) known.push_back(key);
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      Report(field, "${ref:" + name + "} names no object of the experiment" +
                        Hint(name, known));
      return;
    }
    edges_[top_].insert(name);
    const Json& target = experiment_->at(name);
    if (kind.empty() || !IsComponent(target)) return;
    const Json& type =
        target.contains("type") ? target.at("type") : target.at("_target");
    if (!type.is_string()) return;
    const auto& type_name = type.get_ref<const std::string&>();
    const auto found = catalogue_.FindAll(type_name);
    const bool fits =
        std::any_of(found.begin(), found.end(),
                    [&kind](const Component* c) { return c->kind == kind; });
    if (!found.empty() && !fits) {
      Report(field, "${ref:" + name + "} is " +
                        WithArticle(found.front()->kind) + ", expected " +
                        WithArticle(kind));
    }
  }

  // Refuses objects that are made of themselves.
  void CheckRefCycles() {
    std::set<std::string> done;
    for (const auto& [start, unused] : edges_) {
      std::vector<std::string> path;
      FollowRefs(start, path, done);
    }
  }

  void FollowRefs(const std::string& name, std::vector<std::string>& path,
                  std::set<std::string>& done) {
    const auto seen = std::find(path.begin(), path.end(), name);
    if (seen != path.end()) {
      std::string circle;
      for (auto step = seen; step != path.end(); ++step) {
        circle += *step + " -> ";
      }
      Report(AppendKey(options_.root, name),
             "refers to itself: " + circle + name);
      return;
    }
    if (done.contains(name) || path.size() > kDeepest) return;
    path.push_back(name);
    const auto next = edges_.find(name);
    if (next != edges_.end()) {
      for (const std::string& target : next->second) {
        FollowRefs(target, path, done);
      }
    }
    path.pop_back();
    done.insert(name);
  }

  std::vector<std::string> NamesOfKind(std::string_view kind) const {
    std::vector<std::string> names;
    std::vector<std::string> aliases;
    for (const Component& component : catalogue_.components) {
      if (kind.empty() ? component.kind == "experiment"
                       : component.kind != kind) {
        continue;
      }
      names.push_back(component.name);
      aliases.insert(aliases.end(), component.aliases.begin(),
                     component.aliases.end());
    }
    names.insert(names.end(), aliases.begin(), aliases.end());
    return names;
  }

  const Catalogue& catalogue_;
  const ValidateOptions& options_;
  const Json* experiment_ = nullptr;
  // Key of the experiment that is being checked.
  std::string top_;
  std::set<std::string> refs_;
  std::map<std::string, std::set<std::string>> edges_;
  std::set<std::string> components_;
  std::set<const Component*> limited_;
  Validated result_;
};

}  // namespace

Validated Validate(const Catalogue& catalogue, const Json& experiment,
                   const ValidateOptions& options) {
  return Validator(catalogue, options).Run(experiment);
}

}  // namespace epochd::catalogue
