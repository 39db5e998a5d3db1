// SPDX-License-Identifier: Apache-2.0
//
// Rules for groups as job files give them: our own spelling and MMEngine's.
#include <algorithm>
#include <utility>

#include "worker/engine/optim/group_rules.h"

namespace epochd::engine {
namespace {

using catalogue::Json;

// A kind of the job file, or nothing.
std::vector<ParameterKind> ParseKind(const std::string& word) {
  if (word == "norm") return {ParameterKind::kNorm};
  if (word == "bias") return {ParameterKind::kBias};
  if (word == "depthwise") return {ParameterKind::kDepthwise};
  if (word == "flat") return {ParameterKind::kFlat};
  return {};
}

void AddPattern(const std::string& pattern, GroupRule& rule) {
  const std::vector<ParameterKind> kinds = ParseKind(pattern);
  if (kinds.empty()) {
    rule.globs.push_back(pattern);
  } else {
    rule.kinds.insert(rule.kinds.end(), kinds.begin(), kinds.end());
  }
  rule.name += (rule.name.empty() ? "" : ", ") + pattern;
}

// Reads one mapping of settings; `where` is for messages.
class RuleReader {
 public:
  RuleReader(const Params& params, std::string parameter, std::string where)
      : params_(params),
        parameter_(std::move(parameter)),
        where_(std::move(where)) {}

  [[noreturn]] void Fail(const std::string& problem) const {
    params_.Fail(parameter_, where_ + ": " + problem);
  }
  double Number(const std::string& key, const Json& value) const {
    if (!value.is_number() || value.get<double>() < 0) {
      Fail(key + ": " + value.dump() + "; a number from 0 is accepted");
    }
    return value.get<double>();
  }
  std::vector<std::string> Texts(const std::string& key,
                                 const Json& value) const {
    std::vector<std::string> texts;
    for (const Json& each : value.is_array() ? value : Json::array({value})) {
      if (!each.is_string() || each.get_ref<const std::string&>().empty()) {
        Fail(key + ": " + each.dump() + "; a pattern is accepted");
      }
      texts.push_back(each.get<std::string>());
    }
    return texts;
  }
  // False: the key is no setting.
  bool ReadSetting(const std::string& key, const Json& value,
                   GroupRule& rule) const {
    if (key == "lr" || key == "learning_rate") {
      rule.lr = Number(key, value);
    } else if (key == "lr_mult") {
      rule.lr_mult = Number(key, value);
    } else if (key == "weight_decay") {
      NeedWeightDecay(key);
      rule.weight_decay = Number(key, value);
    } else if (key == "weight_decay_mult" || key == "decay_mult") {
      NeedWeightDecay(key);
      rule.weight_decay_mult = Number(key, value);
    } else if (key == "momentum") {
      if (!params_.Has("momentum") && !params_.Has("betas")) {
        Fail(key + ": this optimizer has none");
      }
      rule.momentum = Number(key, value);
    } else {
      return false;
    }
    return true;
  }
  void NeedWeightDecay(const std::string& key) const {
    if (!params_.Has("weight_decay")) {
      Fail(key + ": this optimizer has no weight decay");
    }
  }

 private:
  const Params& params_;
  const std::string parameter_;
  const std::string where_;
};

// Longer ones, of nested groups, may take all of the stack.
constexpr size_t kMaxRegex = 200;

GroupRule ReadRule(const Params& params, size_t index, const Json& value) {
  const RuleReader reader(params, "parameter_groups",
                          "entry " + std::to_string(index));
  GroupRule rule{.name = "", .must_match = true};
  if (!value.is_object()) reader.Fail(value.dump() + "; a mapping is accepted");
  for (const auto& [key, setting] : value.items()) {
    if (reader.ReadSetting(key, setting, rule)) continue;
    if (key == "match") {
      for (const auto& text : reader.Texts(key, setting)) {
        AddPattern(text, rule);
      }
    } else if (key == "regex") {
      for (const auto& text : reader.Texts(key, setting)) {
        if (text.size() > kMaxRegex) {
          reader.Fail("regex: of " + std::to_string(text.size()) +
                      " characters; up to " + std::to_string(kMaxRegex) +
                      " are accepted");
        }
        try {
          // The matcher whose time does not explode; without back references.
          rule.expressions.emplace_back(
              text,
              std::regex::ECMAScript | std::regex_constants::__polynomial);
        } catch (const std::regex_error& error) {
          reader.Fail("regex: \"" + text + "\" is none (" + error.what() + ")");
        }
        rule.name += (rule.name.empty() ? "" : ", ") + text;
      }
    } else if (key == "frozen") {
      if (!setting.is_boolean()) reader.Fail("frozen: true or false");
      rule.is_frozen = setting.get<bool>();
    } else {
      reader.Fail("\"" + key +
                  "\" is not known; match, regex, frozen, lr, lr_mult, "
                  "weight_decay, weight_decay_mult and momentum are accepted");
    }
  }
  if (rule.name.empty()) reader.Fail("match: missing; a pattern is accepted");
  return rule;
}

// MMEngine's custom_keys: the longest key that is part of the name decides
// alone, so what it does not say is the optimizer's.
void AddCustomKeys(const Params& params, const Json& keys,
                   std::vector<GroupRule>& rules) {
  std::vector<GroupRule> custom;
  for (const auto& [key, settings] : keys.items()) {
    const RuleReader reader(params, "paramwise_cfg", "custom_keys." + key);
    GroupRule rule{.name = key, .parts = {key}};
    if (!settings.is_object()) {
      reader.Fail(settings.dump() + "; a mapping is accepted");
    }
    for (const auto& [name, value] : settings.items()) {
      if (!reader.ReadSetting(name, value, rule)) {
        reader.Fail("\"" + name +
                    "\" is not known; lr_mult, decay_mult, lr, weight_decay "
                    "and momentum are accepted");
      }
    }
    // Absolute values win over factors.
    if (rule.lr.has_value()) rule.lr_mult.reset();
    if (rule.weight_decay.has_value()) rule.weight_decay_mult.reset();
    if (!rule.lr.has_value() && !rule.lr_mult.has_value()) rule.lr_mult = 1.0;
    if (params.Has("weight_decay") && !rule.weight_decay.has_value() &&
        !rule.weight_decay_mult.has_value()) {
      rule.weight_decay_mult = 1.0;
    }
    custom.push_back(std::move(rule));
  }
  std::sort(custom.begin(), custom.end(),
            [](const GroupRule& one, const GroupRule& other) {
              const std::string& a = one.name;
              const std::string& b = other.name;
              return a.size() != b.size() ? a.size() > b.size() : a < b;
            });
  for (GroupRule& rule : custom) rules.push_back(std::move(rule));
}

struct KindFactor {
  const char* key;
  ParameterKind kind;
  bool is_decay;
};
// In the order in which MMEngine asks.
constexpr KindFactor kKindFactors[] = {
    {"bias_lr_mult", ParameterKind::kBias, false},
    {"norm_decay_mult", ParameterKind::kNorm, true},
    {"bias_decay_mult", ParameterKind::kBias, true},
    {"dwconv_decay_mult", ParameterKind::kDepthwise, true},
    {"flat_decay_mult", ParameterKind::kFlat, true}};

void AddParamwise(const Params& params, std::vector<GroupRule>& rules) {
  const Json& config = params.Raw("paramwise_cfg");
  for (const auto& [key, value] : config.items()) {
    // No parameter comes twice here, and no layer is a deformable convolution.
    if (key == "custom_keys" || key == "bypass_duplicate" ||
        key == "dcn_offset_lr_mult") {
      continue;
    }
    if (std::none_of(std::begin(kKindFactors), std::end(kKindFactors),
                     [&](const KindFactor& each) { return key == each.key; })) {
      params.Fail(
          "paramwise_cfg",
          "\"" + key +
              "\" is not known; custom_keys, bias_lr_mult, bias_decay_mult, "
              "norm_decay_mult, dwconv_decay_mult, flat_decay_mult and "
              "bypass_duplicate are accepted");
    }
  }
  if (config.contains("custom_keys")) {
    AddCustomKeys(params, config.at("custom_keys"), rules);
  }
  for (const KindFactor& each : kKindFactors) {
    const auto value = config.find(each.key);
    if (value == config.end() || value->is_null()) continue;
    const RuleReader reader(params, "paramwise_cfg", "paramwise_cfg");
    GroupRule rule{.name = each.key, .kinds = {each.kind}};
    const double factor = reader.Number(each.key, *value);
    if (each.is_decay) {
      reader.NeedWeightDecay(each.key);
      rule.weight_decay_mult = factor;
    } else {
      rule.lr_mult = factor;
    }
    rules.push_back(std::move(rule));
  }
}

}  // namespace

std::vector<catalogue::Parameter> GroupParameters() {
  return {
      {.name = "parameter_groups",
       .type = "list<map>",
       .help = "rules {match or regex, lr, lr_mult, weight_decay, "
               "weight_decay_mult, momentum, frozen}; match is a name with * "
               "and ?, a layer's name, or norm, bias, flat or depthwise; the "
               "first rule that gives a setting decides it"},
      {.name = "no_decay",
       .type = "list<string>",
       .scalar_ok = true,
       .help = "parameters without weight decay: patterns, or norm, bias, flat "
               "and depthwise"},
      {.name = "paramwise_cfg",
       .type = "map",
       .help = "MMEngine's: custom_keys, bias_lr_mult, bias_decay_mult, "
               "norm_decay_mult, dwconv_decay_mult, flat_decay_mult"}};
}

std::vector<GroupRule> ReadGroupRules(const Params& params) {
  std::vector<GroupRule> rules;
  if (params.Has("parameter_groups")) {
    const Json& list = params.Raw("parameter_groups");
    for (size_t i = 0; i < list.size(); ++i) {
      rules.push_back(ReadRule(params, i, list[i]));
    }
  }
  if (params.Has("no_decay")) {
    if (!params.Has("weight_decay")) {
      params.Fail("no_decay", "this optimizer has no weight decay");
    }
    for (const std::string& pattern : params.Strings("no_decay")) {
      GroupRule rule{.name = "", .weight_decay = 0.0};
      AddPattern(pattern, rule);
      rule.must_match = rule.kinds.empty();
      rule.name = "no_decay " + rule.name;
      rules.push_back(std::move(rule));
    }
  }
  if (params.Has("paramwise_cfg")) AddParamwise(params, rules);
  return rules;
}

}  // namespace epochd::engine
