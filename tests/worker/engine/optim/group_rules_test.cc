// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/group_rules.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/worker/engine/error_of.h"
#include "tests/worker/engine/schedule/made.h"

namespace epochd::engine {
namespace {

NamedTensor Parameter(const std::string& name, at::IntArrayRef shape) {
  return {name, torch::ones(shape).requires_grad_()};
}

// A convolution, a normalization, a convolution by channel, a scale, a head.
std::vector<NamedTensor> MakeNetwork() {
  return {Parameter("stem.conv.weight", {8, 3, 3, 3}),
          Parameter("stem.conv.bias", {8}),
          Parameter("stem.bn.weight", {8}),
          Parameter("stem.bn.bias", {8}),
          Parameter("body.0.weight", {8, 1, 3, 3}),
          Parameter("body.scale", {8}),
          Parameter("head.weight", {10, 8}),
          Parameter("head.bias", {10})};
}

// "name: lr, weight decay: parameters" of each group.
std::vector<std::string> Layout(const std::string& job,
                                const std::vector<NamedTensor>& parameters) {
  const auto optimizer = MadeOptimizer(job, parameters);
  std::vector<std::string> lines;
  size_t next = 0;
  for (const Optimizer::Group& group : optimizer->groups()) {
    std::string line = group.name + ": " + nlohmann::json(group.lr).dump() +
                       ", " + nlohmann::json(group.weight_decay).dump() + ":";
    for (size_t i = 0; i < group.num_parameters; ++i) {
      line += " " + optimizer->parameters()[next++].name;
    }
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(GroupRulesTest, WithoutRulesThereIsOneGroup) {
  EXPECT_EQ(Layout(R"({"type": "SGD", "lr": 0.5})",
                   {Parameter("a", {2}), Parameter("b", {2})}),
            (Lines{"default: 0.5, 0.0: a b"}));
}

TEST(GroupRulesTest, NoDecayOnNormsAndBiases) {
  EXPECT_EQ(
      Layout(R"({"type": "AdamW", "lr": 0.5, "weight_decay": 0.25,
                 "no_decay": ["norm", "bias"]})",
             MakeNetwork()),
      (Lines{"default: 0.5, 0.25: stem.conv.weight body.0.weight body.scale "
             "head.weight",
             "no_decay bias: 0.5, 0.0: stem.conv.bias stem.bn.weight "
             "stem.bn.bias head.bias"}));
}

TEST(GroupRulesTest, KindsAreToldByNamesAndShapes) {
  using Kind = ParameterKind;
  EXPECT_EQ(KindsOf(MakeNetwork()),
            (std::vector<Kind>{Kind::kWeight, Kind::kBias, Kind::kNorm,
                               Kind::kNorm, Kind::kDepthwise, Kind::kFlat,
                               Kind::kWeight, Kind::kBias}));
}

TEST(GroupRulesTest, TheFirstRuleThatGivesASettingDecides) {
  EXPECT_EQ(Layout(R"({"type": "SGD", "lr": 0.5, "weight_decay": 0.25,
                 "no_decay": "bias",
                 "parameter_groups": [
                   {"match": "head", "lr_mult": 4},
                   {"match": ["stem*", "head"], "lr": 0.125,
                    "weight_decay_mult": 2},
                   {"regex": "^body\\.[0-9]", "lr": 1}]})",
                   MakeNetwork()),
            (Lines{"default: 0.5, 0.25: body.scale",
                   "stem*, head: 0.125, 0.5: stem.conv.weight stem.conv.bias "
                   "stem.bn.weight stem.bn.bias",
                   "^body\\.[0-9]: 1.0, 0.25: body.0.weight",
                   "head + stem*, head: 2.0, 0.5: head.weight head.bias"}));
}

TEST(GroupRulesTest, MmenginesParamwiseConfig) {
  EXPECT_EQ(
      Layout(R"({"type": "SGD", "lr": 0.5, "weight_decay": 0.25,
                 "paramwise_cfg": {
                   "bias_lr_mult": 2, "bias_decay_mult": 0,
                   "norm_decay_mult": 0.5, "dwconv_decay_mult": 4,
                   "flat_decay_mult": 8,
                   "custom_keys": {"head": {"lr_mult": 0.5},
                                   "head.b": {"decay_mult": 2}}}})",
             MakeNetwork()),
      (Lines{"default: 0.5, 0.25: stem.conv.weight",
             "bias_lr_mult + bias_decay_mult: 1.0, 0.0: stem.conv.bias",
             "norm_decay_mult: 0.5, 0.125: stem.bn.weight stem.bn.bias",
             "dwconv_decay_mult: 0.5, 1.0: body.0.weight",
             "flat_decay_mult: 0.5, 2.0: body.scale",
             "head: 0.25, 0.25: head.weight", "head.b: 0.5, 0.5: head.bias"}));
}

TEST(GroupRulesTest, Case195FrozenParametersAreInNoGroup) {
  std::vector<NamedTensor> network = MakeNetwork();
  network[6].tensor.set_requires_grad(false);
  const auto optimizer =
      MadeOptimizer(R"({"type": "AdamW", "lr": 0.5, "weight_decay": 0.5,
                        "parameter_groups": [
                          {"match": "stem.conv", "frozen": true}]})",
                    network);
  for (const NamedTensor& each : optimizer->parameters()) {
    EXPECT_FALSE(each.name.starts_with("stem.conv")) << each.name;
    EXPECT_NE(each.name, "head.weight");
  }
  EXPECT_EQ(optimizer->parameters().size(), 5u);
  EXPECT_FALSE(network[0].tensor.requires_grad());
  // Not even weight decay moves them.
  for (const NamedTensor& each : network) {
    if (!each.tensor.requires_grad()) continue;
    each.tensor.mutable_grad() = torch::ones_like(each.tensor);
  }
  optimizer->Step();
  EXPECT_TRUE(torch::equal(network[0].tensor, torch::ones({8, 3, 3, 3})));
  EXPECT_TRUE(torch::equal(network[6].tensor, torch::ones({10, 8})));
  EXPECT_FALSE(torch::equal(network[2].tensor, torch::ones({8})));
}

TEST(GroupRulesTest, Case94OtherGroupsStartAnewAndSayWhy) {
  const std::vector<NamedTensor> network = MakeNetwork();
  const std::string frozen = R"({"type": "Adam", "lr": 0.5,
      "parameter_groups": [{"match": "stem", "frozen": true}]})";
  const auto saved = MadeOptimizer(frozen, network);
  const auto same = MadeOptimizer(frozen, network);
  saved->set_lr(0.25);
  EXPECT_EQ(RestoreOptimizer(*same, saved->Settings(), saved->State()), "");
  EXPECT_EQ(same->lr(), 0.25);

  const std::vector<NamedTensor> thawed = MakeNetwork();
  const auto more = MadeOptimizer(R"({"type": "Adam", "lr": 0.5})", thawed);
  EXPECT_EQ(RestoreOptimizer(*more, saved->Settings(), saved->State()),
            "group 0 \"default\" has \"stem.conv.weight\", which was not in "
            "it");
  EXPECT_EQ(more->lr(), 0.5);
  const auto grouped = MadeOptimizer(R"({"type": "Adam", "lr": 0.5,
      "parameter_groups": [{"match": "head", "lr": 1}]})",
                                     thawed);
  EXPECT_EQ(RestoreOptimizer(*grouped, more->Settings(), more->State()),
            "1 groups of parameters, not 2");
}

TEST(GroupRulesTest, NoRegexTakesAllTimeOrAllOfTheStack) {
  const auto message = [](const std::string& regex) {
    return ErrorOf([&] {
      MadeOptimizer(R"({"type": "SGD", "parameter_groups": [{"regex": ")" +
                        regex + R"(", "lr": 1}]})",
                    MakeNetwork());
    });
  };
  EXPECT_NE(message("(.*.*.*.*.*.*.*)*x").find("matches no parameter"),
            std::string::npos);
  const std::string deep(50'000, '(');
  EXPECT_NE(message(deep + std::string(50'000, ')'))
                .find("regex: of 100000 characters; up to 200 are accepted"),
            std::string::npos);
}

struct Refusal {
  const char* job;
  const char* message;
};

class GroupRulesErrorTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(GroupRulesErrorTest, SaysWhatIsNotUnderstood) {
  const std::string message =
      ErrorOf([] { MadeOptimizer(GetParam().job, MakeNetwork()); });
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, GroupRulesErrorTest,
    ::testing::Values(
        Refusal{R"({"type": "SGD", "parameter_groups": [
                    {"match": "hed", "lr": 1}]})",
                "experiment.optimizer: \"hed\" matches no parameter; the names "
                "are stem.conv.weight, "},
        Refusal{R"({"type": "SGD", "parameter_groups": [{"lr": 1}]})",
                "experiment.optimizer.parameter_groups: entry 0: match: "
                "missing"},
        Refusal{R"({"type": "SGD", "parameter_groups": [
                    {"match": "head", "lr": -1}]})",
                "entry 0: lr: -1; a number from 0 is accepted"},
        Refusal{R"({"type": "SGD", "parameter_groups": [
                    {"match": "head", "learn": 1}]})",
                "\"learn\" is not known; match, regex, frozen, lr,"},
        Refusal{R"({"type": "SGD", "parameter_groups": [
                    {"regex": "(", "lr": 1}]})",
                "regex: \"(\" is none"},
        Refusal{R"({"type": "Adagrad", "parameter_groups": [
                    {"match": "head", "momentum": 0.5}]})",
                "momentum: this optimizer has none"},
        Refusal{R"({"type": "LBFGS", "no_decay": "bias"})",
                "no_decay: this optimizer has no weight decay"},
        Refusal{R"({"type": "LBFGS", "parameter_groups": [
                    {"match": "head", "lr": 0.5}]})",
                "LBFGS with 2 groups of parameters; one is accepted"},
        Refusal{R"({"type": "SGD", "paramwise_cfg": {"bias_mult": 2}})",
                "paramwise_cfg: \"bias_mult\" is not known; custom_keys"},
        Refusal{R"({"type": "SGD", "paramwise_cfg": {
                    "custom_keys": {"head": {"lr_mul": 2}}}})",
                "custom_keys.head: \"lr_mul\" is not known; lr_mult"}));

}  // namespace
}  // namespace epochd::engine
