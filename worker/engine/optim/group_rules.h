// SPDX-License-Identifier: Apache-2.0
//
// Which parameters an optimizer updates by settings of their own, by rules
// over their names and kinds. Each setting is that of the first rule that
// matches the parameter and gives it; parameters with the same settings make
// one group. Frozen ones, by a rule or because they need no gradient, are in
// none.
//
//   rules: {"head", lr_mult 10}, {norm and bias, weight_decay 0}
//   head.weight  lr * 10
//   head.bias    lr * 10, weight_decay 0
//   body.weight  the optimizer's
//   body.bias    weight_decay 0
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "worker/engine/optim/grouped.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

// What a parameter is to its layer, told by names and shapes: layers with a
// weight of one dimension are normalizations.
enum class ParameterKind {
  kWeight,
  kNorm,       // weight and bias of a normalization
  kBias,       // of any other layer
  kDepthwise,  // weight of a convolution by channel
  kFlat,       // of one dimension, and none of the above; as a rule: any such
};

struct GroupRule {
  // In messages and as the group's name.
  std::string name;
  // Any of these makes it match: a pattern with * and ? that fits the whole
  // name or a leading part of it up to a dot; a regular expression found in
  // the name; a part of the name; a kind.
  std::vector<std::string> globs{};
  std::vector<std::regex> expressions{};
  std::vector<std::string> parts{};
  std::vector<ParameterKind> kinds{};
  // A rule that matches nothing is an error.
  bool must_match = false;
  bool is_frozen = false;
  std::optional<double> lr{};
  std::optional<double> lr_mult{};
  std::optional<double> momentum{};
  std::optional<double> weight_decay{};
  std::optional<double> weight_decay_mult{};
};

// One kind for each, in order.
std::vector<ParameterKind> KindsOf(const std::vector<NamedTensor>& parameters);

// Groups of `parameters`; `base` is what multipliers multiply. Parameters that
// a rule freezes stop to need a gradient. The group without rules is called
// "default" and comes first. Throws Error(kBadSpec) naming a rule that had to
// match and does not.
ParameterGroups MakeGroups(const std::vector<NamedTensor>& parameters,
                           const std::vector<GroupRule>& rules,
                           const CommonSettings& base);

// Parameters `parameter_groups`, `no_decay` and `paramwise_cfg` that each
// optimizer has beside its own.
std::vector<catalogue::Parameter> GroupParameters();
// Reads them. Throws Error(kBadSpec) naming what is not understood.
std::vector<GroupRule> ReadGroupRules(const Params& params);

}  // namespace epochd::engine
