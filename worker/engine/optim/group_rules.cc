// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/group_rules.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/name_pattern.h"

namespace epochd::engine {
namespace {

bool KindFits(ParameterKind wanted, ParameterKind kind, int64_t dimensions) {
  return wanted == kind || (wanted == ParameterKind::kFlat && dimensions == 1);
}

bool RuleMatches(const GroupRule& rule, const NamedTensor& parameter,
                 ParameterKind kind) {
  const std::string& name = parameter.name;
  return std::any_of(rule.globs.begin(), rule.globs.end(),
                     [&](const std::string& glob) {
                       return PatternFits(glob, name);
                     }) ||
         std::any_of(rule.expressions.begin(), rule.expressions.end(),
                     [&](const std::regex& expression) {
                       return std::regex_search(name, expression);
                     }) ||
         std::any_of(rule.parts.begin(), rule.parts.end(),
                     [&](const std::string& part) {
                       return name.find(part) != std::string::npos;
                     }) ||
         std::any_of(rule.kinds.begin(), rule.kinds.end(),
                     [&](ParameterKind wanted) {
                       return KindFits(wanted, kind, parameter.tensor.dim());
                     });
}

// What the rules make of one parameter.
struct Verdict {
  std::string name;
  bool is_frozen = false;
  bool has_lr = false;
  bool has_momentum = false;
  bool has_weight_decay = false;
  ParameterGroup settings;
};

void ApplyRule(const GroupRule& rule, const CommonSettings& base,
               Verdict& verdict) {
  ParameterGroup& settings = verdict.settings;
  bool counts = rule.is_frozen;
  if (rule.is_frozen) verdict.is_frozen = true;
  if (!verdict.has_lr && (rule.lr || rule.lr_mult)) {
    settings.lr = rule.lr.value_or(base.lr) * rule.lr_mult.value_or(1.0);
    counts = verdict.has_lr = true;
  }
  if (!verdict.has_momentum && rule.momentum) {
    settings.momentum = rule.momentum;
    counts = verdict.has_momentum = true;
  }
  if (!verdict.has_weight_decay &&
      (rule.weight_decay || rule.weight_decay_mult)) {
    settings.weight_decay = rule.weight_decay.value_or(base.weight_decay) *
                            rule.weight_decay_mult.value_or(1.0);
    counts = verdict.has_weight_decay = true;
  }
  if (counts) verdict.name += (verdict.name.empty() ? "" : " + ") + rule.name;
}

bool SameSettings(const ParameterGroup& one, const ParameterGroup& other) {
  return one.lr == other.lr && one.momentum == other.momentum &&
         one.weight_decay == other.weight_decay;
}

std::string SomeNames(const std::vector<NamedTensor>& parameters) {
  constexpr size_t kMost = 6;
  std::string names;
  for (size_t i = 0; i < parameters.size() && i < kMost; ++i) {
    names += (i == 0 ? "" : ", ") + parameters[i].name;
  }
  if (parameters.size() > kMost) {
    names += " and " + std::to_string(parameters.size() - kMost) + " more";
  }
  return names;
}

}  // namespace

std::vector<ParameterKind> KindsOf(const std::vector<NamedTensor>& parameters) {
  std::unordered_map<std::string, const at::Tensor*> by_name;
  for (const NamedTensor& each : parameters) {
    by_name[each.name] = &each.tensor;
  }
  std::vector<ParameterKind> kinds;
  for (const auto& [name, tensor] : parameters) {
    const size_t dot = name.rfind('.');
    const std::string layer =
        dot == std::string::npos ? "" : name.substr(0, dot + 1);
    const std::string own = name.substr(layer.size());
    const auto weight = by_name.find(layer + "weight");
    const bool is_norm = (own == "weight" || own == "bias") &&
                         weight != by_name.end() && weight->second->dim() == 1;
    if (is_norm) {
      kinds.push_back(ParameterKind::kNorm);
    } else if (own == "bias") {
      kinds.push_back(ParameterKind::kBias);
    } else if (tensor.dim() == 4 && tensor.size(1) == 1) {
      kinds.push_back(ParameterKind::kDepthwise);
    } else if (tensor.dim() == 1) {
      kinds.push_back(ParameterKind::kFlat);
    } else {
      kinds.push_back(ParameterKind::kWeight);
    }
  }
  return kinds;
}

ParameterGroups MakeGroups(const std::vector<NamedTensor>& parameters,
                           const std::vector<GroupRule>& rules,
                           const CommonSettings& base) {
  const std::vector<ParameterKind> kinds = KindsOf(parameters);
  std::vector<bool> has_matched(rules.size());
  std::vector<ParameterGroup> groups(1);
  for (size_t i = 0; i < parameters.size(); ++i) {
    Verdict verdict;
    for (size_t r = 0; r < rules.size(); ++r) {
      if (!RuleMatches(rules[r], parameters[i], kinds[i])) continue;
      has_matched[r] = true;
      ApplyRule(rules[r], base, verdict);
    }
    if (verdict.is_frozen) {
      parameters[i].tensor.set_requires_grad(false);
      continue;
    }
    if (!parameters[i].tensor.requires_grad()) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const ParameterGroup& other) {
                                return SameSettings(other, verdict.settings);
                              });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), verdict.settings);
      group->name = verdict.name;
    }
    group->parameters.push_back(parameters[i]);
  }
  for (size_t r = 0; r < rules.size(); ++r) {
    if (has_matched[r] || !rules[r].must_match) continue;
    throw Error(ErrorKind::kBadSpec,
                "\"" + rules[r].name +
                    "\" matches no parameter; the names are " +
                    SomeNames(parameters));
  }
  if (groups.size() > 1 && groups.front().parameters.empty()) {
    groups.erase(groups.begin());
  }
  return groups;
}

}  // namespace epochd::engine
