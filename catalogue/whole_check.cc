// SPDX-License-Identifier: Apache-2.0
#include "catalogue/whole_check.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "catalogue/accepted_text.h"
#include "catalogue/component_form.h"
#include "catalogue/parameters.h"
#include "catalogue/references.h"
#include "catalogue/type.h"

namespace epochd::catalogue {
namespace {

// Splits at the first dot.
std::pair<std::string_view, std::string_view> Split(std::string_view field) {
  const size_t dot = field.find('.');
  if (dot == std::string_view::npos) return {field, {}};
  return {field.substr(0, dot), field.substr(dot + 1)};
}

bool IsEmpty(const Json& value) {
  return value.is_null() || (value.is_array() && value.empty());
}

std::string PlainText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Puts parameters into a template such as `val/{name}`; nothing: one of them
// is absent and has no default.
std::optional<std::string> Filled(const std::string& pattern, const Use& use) {
  std::string result;
  size_t done = 0;
  for (size_t at = pattern.find('{'); at != std::string::npos;
       at = pattern.find('{', done)) {
    const size_t end = pattern.find('}', at);
    if (end == std::string::npos) break;
    result += pattern.substr(done, at - done);
    done = end + 1;
    const Parameter* parameter =
        FindParameter(*use.component, pattern.substr(at + 1, end - at - 1));
    if (parameter == nullptr) return std::nullopt;
    const Json* given = FindGiven(*parameter, *use.parameters);
    const Json& value = given != nullptr ? *given : parameter->default_value;
    if (!value.is_primitive() || value.is_null()) return std::nullopt;
    result += PlainText(value);
  }
  return result + pattern.substr(done);
}

// A second loss of one name is numbered: `mse_2` is `mse` here.
std::string WithoutNumber(const std::string& name) {
  const size_t bar = name.rfind('_');
  if (bar == std::string::npos || bar + 1 == name.size() || bar == 0) {
    return name;
  }
  const bool is_number =
      std::all_of(name.begin() + static_cast<ptrdiff_t>(bar) + 1, name.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_number ? name.substr(0, bar) : name;
}

// Tells whether another component than that of `use` gives the score.
bool IsGiven(const std::string& score, const Use& use,
             const std::vector<Use>& uses) {
  return std::any_of(uses.begin(), uses.end(), [&](const Use& other) {
    const std::vector<std::string>& gives = other.component->gives;
    return other.component != use.component &&
           std::any_of(gives.begin(), gives.end(), [&](const auto& name) {
             return name == score || name == "*";
           });
  });
}

}  // namespace

void WholeCheck::AddDefaults(std::vector<Use>& uses) const {
  uses.push_back({&component_, &experiment_, root_});
  std::set<std::string> kinds;
  for (const Use& use : uses) kinds.insert(use.component->kind);
  for (const Parameter& parameter : component_.parameters) {
    if (FindGiven(parameter, experiment_) != nullptr) continue;
    const std::optional<Form> form = ReadForm(parameter.default_value);
    const Type type = ParseType(parameter.type);
    if (!form || type.kind != Type::Kind::kComponent ||
        kinds.contains(type.argument)) {
      continue;
    }
    const Component* component = catalogue_.Find(type.argument, form->Name());
    if (component == nullptr || form->parameters == nullptr) continue;
    uses.push_back(
        {component, form->parameters, AppendKey(root_, parameter.name)});
  }
}

std::string WholeCheck::Task() const {
  const Parameter* parameter = FindParameter(component_, "task");
  if (parameter == nullptr) return "";
  const Json* given = FindGiven(*parameter, experiment_);
  const Json& task = given != nullptr ? *given : parameter->default_value;
  return task.is_string() ? task.get<std::string>() : "";
}

const Json& WholeCheck::Followed(const Json& value) const {
  const Json* at = &value;
  // References in a circle are reported elsewhere.
  for (int hops = 0; hops < 64; ++hops) {
    const auto name = RefName(*at);
    if (!name || !experiment_.contains(*name)) break;
    at = &experiment_.at(*name);
  }
  return *at;
}

const Json* WholeCheck::Find(std::string_view field) const {
  return Find(component_, experiment_, field);
}

const Json* WholeCheck::Find(const Component& component, const Json& parameters,
                             std::string_view field) const {
  const auto [key, rest] = Split(field);
  const Parameter* parameter = FindParameter(component, key);
  if (parameter == nullptr) return nullptr;
  const Json* given = FindGiven(*parameter, parameters);
  if (given == nullptr || rest.empty()) {
    return given == nullptr || IsEmpty(*given) ? nullptr : given;
  }
  const Json& value = Followed(*given);
  const Type type = ParseType(parameter->type);
  if (type.kind == Type::Kind::kComponent) {
    const std::optional<Form> form = ReadForm(value);
    if (!form || form->parameters == nullptr) return nullptr;
    const Component* inner = catalogue_.Find(type.argument, form->Name());
    if (inner == nullptr) return nullptr;
    return Find(*inner, *form->parameters, rest);
  }
  if (!value.is_object()) return nullptr;
  const auto found = value.find(std::string(rest));
  return found == value.end() || IsEmpty(*found) ? nullptr : &*found;
}

void WholeCheck::CheckNeeds(const std::vector<Use>& uses,
                            Findings& findings) const {
  const std::string task = Task();
  std::set<std::string> asked;
  for (const Use& use : uses) {
    for (const Need& need : use.component->needs) {
      if (!need.tasks.empty() && std::find(need.tasks.begin(), need.tasks.end(),
                                           task) == need.tasks.end()) {
        continue;
      }
      if (!need.role.empty()) {
        CheckRole(use, need, findings);
        continue;
      }
      const bool is_met = std::any_of(
          need.any_of.begin(), need.any_of.end(), [&](const auto& field) {
            if (field.find('/') != std::string::npos) {
              return IsGiven(field, use, uses);
            }
            return field.starts_with('.')
                       ? Find(*use.component, *use.parameters,
                              std::string_view(field).substr(1)) != nullptr
                       : Find(field) != nullptr;
          });
      const std::string& first = need.any_of.front();
      const bool is_own = first.starts_with('.');
      const std::string field =
          is_own ? use.field + first : root_ + "." + first;
      if (is_met || !asked.insert(field).second) continue;
      const bool is_of_task = use.component == &component_;
      std::string description =
          "missing, " + (is_of_task ? "task: " + task : use.component->name) +
          " needs it";
      if (!is_own && !is_of_task) description += " (" + use.field + ")";
      findings.Report(field, std::move(description));
    }
  }
}

const Json& WholeCheck::ValueOf(const Use& use, std::string_view name) const {
  static const Json kNone;
  const Parameter* parameter = FindParameter(*use.component, name);
  if (parameter == nullptr) return kNone;
  const Json* given = FindGiven(*parameter, *use.parameters);
  return given != nullptr ? Followed(*given) : parameter->default_value;
}

void WholeCheck::CheckOneOf(const std::vector<Use>& uses,
                            Findings& findings) const {
  std::map<std::string, const Use*> first;
  for (const Use& use : uses) {
    if (use.component->one_of.empty()) continue;
    const std::optional<std::string> name = Filled(use.component->one_of, use);
    if (!name) continue;
    const auto [found, is_first] = first.emplace(*name, &use);
    if (is_first) continue;
    findings.Report(use.field, "a second " + *name +
                                   ", one is accepted, such as that in " +
                                   found->second->field);
  }
}

void WholeCheck::CheckAlike(const std::vector<Use>& uses,
                            Findings& findings) const {
  struct Looker {
    const Use& use;
    const Rule& rule;
    Json subject;
  };
  std::vector<Looker> lookers;
  for (const Use& use : uses) {
    for (const Rule& rule : use.component->rules) {
      if (rule.check != Rule::Check::kAlike) continue;
      Json subject = ValueOf(use, rule.of.front());
      for (const Json& key : rule.values) {
        if (subject.is_object()) subject.erase(key.get<std::string>());
      }
      // That one before it was compared with those before.
      const auto other = std::find_if(
          lookers.rbegin(), lookers.rend(), [&](const Looker& each) {
            return each.rule.of.front() == rule.of.front() &&
                   each.subject == subject;
          });
      if (other != lookers.rend()) {
        CheckAlike(rule, use, other->use, findings);
      }
      lookers.push_back({use, rule, std::move(subject)});
    }
  }
}

void WholeCheck::CheckAlike(const Rule& rule, const Use& use, const Use& other,
                            Findings& findings) const {
  if (use.component != other.component) {
    findings.Report(use.field, use.component->name + " beside the " +
                                   other.component->name + " in " +
                                   other.field + ", which has the same " +
                                   rule.of.front() +
                                   ": their parts would overlap");
    return;
  }
  for (size_t i = 1; i < rule.of.size(); ++i) {
    const Json& own = ValueOf(use, rule.of[i]);
    const Json& others = ValueOf(other, rule.of[i]);
    if (own == others) continue;
    const auto text = [](const Json& value) {
      return value.is_null() ? "none" : value.dump();
    };
    findings.Report(AppendKey(use.field, rule.of[i]),
                    "expected " + text(others) + " as in " + other.field +
                        ", which has the same " + rule.of.front() + ", got " +
                        text(own) + ": their parts would overlap");
  }
}

void WholeCheck::CheckRole(const Use& use, const Need& need,
                           Findings& findings) const {
  for (const std::string& field : need.any_of) {
    const Json* given = Find(field);
    if (given == nullptr) continue;
    const std::optional<Form> form = ReadForm(Followed(*given));
    if (!form) return;
    const auto found = catalogue_.FindAll(form->Name());
    if (found.empty() ||
        std::any_of(found.begin(), found.end(), [&need](const auto* each) {
          return each->role == need.role;
        })) {
      return;
    }
    findings.Report(
        root_ + "." + field,
        "expected " + ExampleText(catalogue_, found.front()->kind, need.role) +
            ", which " + use.component->name + " (" + use.field +
            ") trains, got " + found.front()->name);
    return;
  }
}

void WholeCheck::Losses(const Json& value, const std::string& field,
                        std::vector<Use>& losses,
                        std::set<std::string>& followed, int depth) const {
  // References in a circle are reported elsewhere.
  constexpr int kDeepest = 64;
  if (depth > kDeepest) return;
  if (const auto name = RefName(value)) {
    const auto found = experiment_.find(*name);
    if (found == experiment_.end() || !followed.insert(*name).second) return;
    return Losses(*found, AppendKey(root_, *name), losses, followed, depth + 1);
  }
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      Losses(value[i], AppendIndex(field, i), losses, followed, depth + 1);
    }
    return;
  }
  const std::optional<Form> form = ReadForm(value);
  if (!form || form->parameters == nullptr) return;
  const Component* loss = catalogue_.Find("loss", form->Name());
  if (loss == nullptr) return;
  losses.push_back({loss, form->parameters, field});
  const std::string below =
      form->IsNested() ? AppendKey(field, "params") : field;
  for (const Parameter& parameter : loss->parameters) {
    const Json* given = FindGiven(parameter, *form->parameters);
    if (given == nullptr || !parameter.type.ends_with("component<loss>>>") ||
        !given->is_object()) {
      continue;
    }
    const std::string map = AppendKey(below, parameter.name);
    for (const auto& [key, inner] : given->items()) {
      Losses(inner, AppendKey(map, key), losses, followed, depth + 1);
    }
  }
}

void WholeCheck::CheckNames(const std::vector<Use>& uses,
                            Findings& findings) const {
  const auto given = [](const Use& use) {
    std::vector<std::string> scores;
    for (const std::string& pattern : use.component->gives) {
      if (pattern.find("{name}") == std::string::npos) continue;
      // A star stands for names that only the run tells.
      const auto score = Filled(pattern, use);
      if (score && !score->ends_with('*')) scores.push_back(*score);
    }
    return scores;
  };
  for (const Use& use : uses) {
    if (use.component->kind != "loss") continue;
    const std::vector<std::string> scores = given(use);
    if (std::find(scores.begin(), scores.end(), "train/loss") != scores.end()) {
      findings.Report(AppendKey(use.field, "name"),
                      "expected another name than 'loss', which the sum of "
                      "losses is called");
    }
  }
  const Json* metrics = Find("metrics");
  if (metrics == nullptr || !metrics->is_array()) return;
  std::set<std::string> known;
  for (size_t i = 0; i < metrics->size(); ++i) {
    const std::optional<Form> form = ReadForm(Followed((*metrics)[i]));
    if (!form || form->parameters == nullptr) continue;
    const Component* metric = catalogue_.Find("metric", form->Name());
    if (metric == nullptr) continue;
    const std::string field = AppendIndex(AppendKey(root_, "metrics"), i);
    for (const std::string& score : given({.component = metric,
                                    .parameters = form->parameters,
                                    .field = field})) {
      if (known.insert(score).second) continue;
      findings.Report(field, "another metric gives '" + score +
                                 "', too; a name of its own is needed "
                                 "({type: " +
                                 metric->name + ", name: ...})");
      break;
    }
  }
}

void WholeCheck::CheckLosses(const std::vector<Use>& uses,
                             Findings& findings) const {
  for (const Use& use : uses) {
    for (const LossPlace& place : use.component->losses) {
      const bool is_own = place.at.starts_with('.');
      const Json* value = is_own ? Find(*use.component, *use.parameters,
                                        std::string_view(place.at).substr(1))
                                 : Find(place.at);
      if (value == nullptr) continue;
      std::vector<Use> losses;
      std::set<std::string> followed;
      Losses(*value, is_own ? use.field + place.at : root_ + "." + place.at,
             losses, followed);
      for (const Use& loss : losses) {
        CheckLoss(loss, place, *use.component, findings);
      }
    }
  }
}

void WholeCheck::CheckLoss(const Use& loss, const LossPlace& place,
                           const Component& runner, Findings& findings) const {
  const std::string& name = loss.component->name;
  const std::string& role = loss.component->role;
  const std::string subject = name + " is a loss of the " + role;
  if (!role.empty() && role != place.role) {
    findings.Report(
        loss.field,
        place.role.empty()
            ? subject + " of a GAN, " + runner.name + " computes none here"
            : subject + ", expected one of the " + place.role);
    return;
  }
  std::vector<std::string> reads;
  for (const std::string& pattern : loss.component->reads) {
    const auto field = Filled(pattern, loss);
    // A field that only the run tells may be the one.
    if (!field) return;
    reads.push_back(*field);
  }
  const std::vector<std::string>& fields = place.fields;
  if (reads.empty() || fields.empty() ||
      std::any_of(reads.begin(), reads.end(), [&fields](const auto& each) {
        return std::find(fields.begin(), fields.end(), each) != fields.end();
      })) {
    return;
  }
  findings.Report(loss.field, name + " reads " + Joined(reads) +
                                  ", expected a loss that reads " +
                                  OrList(fields) + ", which " + runner.name +
                                  " makes");
}

void WholeCheck::CheckScores(const std::vector<Use>& uses,
                             const std::vector<AskedScore>& asked,
                             Findings& findings) const {
  std::vector<std::string> known;
  for (const Use& use : uses) {
    for (const std::string& pattern : use.component->gives) {
      if (pattern == "*") return;
      const auto name = Filled(pattern, use);
      if (name && std::find(known.begin(), known.end(), *name) == known.end()) {
        known.push_back(*name);
      }
    }
  }
  // A catalogue that says nothing about scores, or a task that watches none.
  const std::string task = Task();
  if (known.empty() || (!task.empty() && task != "train")) return;
  for (const AskedScore& score : asked) {
    const auto is_known = [&known](const std::string& name) {
      return std::any_of(known.begin(), known.end(), [&](const auto& each) {
        // A slash and a star stand for names below, such as of classes.
        return each == name ||
               (each.ends_with("/*") &&
                name.starts_with(each.substr(0, each.size() - 1)));
      });
    };
    if (!is_known(score.name) && !is_known(WithoutNumber(score.name))) {
      findings.Report(score.field,
                      "no loss, metric or hook of this experiment gives '" +
                          score.name + "'" + Hint(score.name, known));
    }
  }
}

}  // namespace epochd::catalogue
