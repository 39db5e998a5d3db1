// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/model_parameters.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {
namespace {

using ::testing::HasSubstr;

struct Built {
  std::shared_ptr<Model> model;
  std::vector<std::string> notices;

  at::Tensor At(const std::string& name) const {
    for (const NamedTensor& each : model->Parameters()) {
      if (each.name == name) return each.tensor;
    }
    for (const NamedTensor& each : model->Buffers()) {
      if (each.name == name) return each.tensor;
    }
    ADD_FAILURE() << name;
    return {};
  }
};

Built Build(const Json& model) {
  Built built;
  const Json nothing = Json::object();
  BuildScope scope(TestRegistry(), nothing, "experiment");
  scope.SetNotices([&](std::string_view severity, const std::string& text) {
    built.notices.push_back(std::string(severity) + " " + text);
  });
  built.model = scope.MakeAs<Model>(model, "experiment.model");
  return built;
}

std::string WhyRefused(const Json& model) {
  return BadSpecOf([&] { Build(model); });
}

Json Mlp(Json more = Json::object()) {
  Json model = {{"type", "MLP"},
                {"in_features", 20},
                {"hidden", {30}},
                {"out_features", 4}};
  model.update(more);
  return model;
}

Json PatchGan(Json more = Json::object()) {
  Json model = {{"type", "PatchGAN"}, {"features", 2}, {"layers", 1}};
  model.update(more);
  return model;
}

// ---- initial weights
// ---------------------------------------------------------

TEST(InitializerTest, FillsWeightsAndTheirBiases) {
  const Built built =
      Build(Mlp({{"init", {{"type", "constant"}, {"val", 3}, {"bias", 7}}}}));
  for (const NamedTensor& each : built.model->Parameters()) {
    const double wanted = each.name.ends_with("bias") ? 7 : 3;
    EXPECT_TRUE(each.tensor.eq(wanted).all().item<bool>()) << each.name;
  }
}

TEST(InitializerTest, ComesInOrderAndWhereItIsMeant) {
  const Built built =
      Build(Mlp({{"init",
                  {{{"type", "ones"}},
                   {{"type", "zeros"}, {"match", {"net.2", "net.0.bias"}}}}}}));
  EXPECT_TRUE(built.At("net.0.weight").eq(1).all().item<bool>());
  EXPECT_TRUE(built.At("net.0.bias").eq(0).all().item<bool>());
  EXPECT_TRUE(built.At("net.2.weight").eq(0).all().item<bool>());
  EXPECT_THAT(WhyRefused(Mlp({{"init", {{"type", "ones"}, {"match", "nt"}}}})),
              HasSubstr("experiment.model.init: match: \"nt\" fits no "
                        "parameter"));
  EXPECT_THAT(
      WhyRefused(Mlp(
          {{"init", {{"type", "kaiming_normal"}, {"match", "net.0.bias"}}}})),
      HasSubstr("kaiming_normal: \"net.0.bias\" of shape [30]"));
}

// torch.nn.init.dirac_: the middle of kernel i, i is 1, for as many channels as
// both sides have.
TEST(InitializerTest, DiracPassesChannelsOn) {
  const Built built =
      Build({{"type", "SRResNet"},
             {"features", 4},
             {"blocks", 1},
             {"upscale", 2},
             {"init", {{"type", "dirac"}, {"match", "conv_first.weight"}}}});
  at::Tensor wanted = at::zeros({4, 3, 3, 3});
  for (int64_t i = 0; i < 3; ++i) wanted[i][i][1][1] = 1;
  EXPECT_TRUE(built.At("conv_first.weight").equal(wanted));
  EXPECT_FALSE(built.At("conv_last.weight").eq(0).all().item<bool>());
}

TEST(InitializerTest, DrawsFromTheDistributionOfItsName) {
  struct Case {
    const char* job;
    double deviation;
  };
  const double fan_in = 400;
  const double fan_out = 300;
  const Case kCases[] = {
      {R"({"type": "kaiming_normal", "nonlinearity": "relu"})",
       std::sqrt(2 / fan_in)},
      {R"({"type": "he_normal", "mode": "fan_out"})", std::sqrt(2 / fan_out)},
      {R"({"type": "kaiming_uniform", "nonlinearity": "linear"})",
       std::sqrt(1 / fan_in)},
      {R"({"type": "xavier_normal", "gain": 2})",
       2 * std::sqrt(2 / (fan_in + fan_out))},
      {R"({"type": "xavier_uniform"})", std::sqrt(2 / (fan_in + fan_out))},
      {R"({"type": "orthogonal"})", std::sqrt(1 / fan_in)},
      {R"({"type": "normal", "std": 0.3})", 0.3},
      {R"({"type": "uniform", "a": -1, "b": 1})", std::sqrt(1 / 3.0)},
      // Cut off at two deviations.
      {R"({"type": "trunc_normal", "std": 0.5, "a": -1, "b": 1})", 0.4398},
  };
  for (const Case& each : kCases) {
    at::manual_seed(1);
    const Built built = Build({{"type", "MLP"},
                               {"in_features", 400},
                               {"out_features", 300},
                               {"init", Json::parse(each.job)}});
    const at::Tensor weight = built.At("net.0.weight");
    EXPECT_NEAR(weight.std().item<double>(), each.deviation,
                0.02 * each.deviation)
        << each.job;
    EXPECT_NEAR(weight.mean().item<double>(), 0, 0.02 * each.deviation);
  }
}

// ---- weights
// -----------------------------------------------------------------

class WeightsTest : public ::testing::Test {
 protected:
  // What `model` holds, its names behind `prefix`.
  std::string Save(const Json& model, const std::string& prefix = "") {
    std::vector<NamedTensor> tensors = ModelTensors(*Build(model).model);
    for (NamedTensor& each : tensors) each.name = prefix + each.name;
    const std::string path = folder_ / "weights.safetensors";
    std::filesystem::remove(path);
    WriteSafetensors(path, tensors);
    return path;
  }
  static std::vector<NamedTensor> ModelTensors(const Model& model) {
    std::vector<NamedTensor> tensors = model.Parameters();
    for (NamedTensor& each : model.Buffers()) tensors.push_back(each);
    return tensors;
  }

  TempFolder folder_;
};

TEST_F(WeightsTest, AreTakenAndReported) {
  const std::string file = Save(Mlp({{"init", {{"type", "ones"}}}}));
  const Built built = Build(Mlp({{"weights", {{"file", file}}}}));
  EXPECT_TRUE(built.At("net.0.weight").eq(1).all().item<bool>());
  EXPECT_THAT(built.notices,
              ::testing::ElementsAre(
                  "info experiment.model.weights: 4 of 4 tensors were taken"));
}

TEST_F(WeightsTest, AreRefusedWhereTheyDoNotFitUnlessAskedFor) {
  const std::string file =
      Save(Mlp({{"out_features", 5}, {"init", {{"type", "ones"}}}}));
  EXPECT_THAT(WhyRefused(Mlp({{"weights", {{"file", file}}}})),
              HasSubstr("experiment.model.weights.strict: false takes what "
                        "fits"));
  const Built built =
      Build(Mlp({{"weights", {{"file", file}, {"strict", false}}}}));
  EXPECT_TRUE(built.At("net.0.weight").eq(1).all().item<bool>());
  EXPECT_FALSE(built.At("net.2.weight").eq(1).all().item<bool>());
  ASSERT_EQ(built.notices.size(), 1u);
  EXPECT_THAT(built.notices[0],
              HasSubstr("warning experiment.model.weights: 2 of 4 tensors"));
  EXPECT_THAT(built.notices[0],
              HasSubstr("\"net.2.weight\" is of shape [5, 30], the model's is "
                        "[4, 30]"));
}

TEST_F(WeightsTest, AreFoundBehindAPrefixAndUnderOtherNames) {
  const std::string file =
      Save(Mlp({{"init", {{"type", "ones"}}}}), "generator.old.");
  const Built built = Build(Mlp({{"weights",
                                  {{"file", file},
                                   {"prefix", "generator."},
                                   {"rename", {{"old.", ""}}}}}}));
  EXPECT_TRUE(built.At("net.2.weight").eq(1).all().item<bool>());
  EXPECT_THAT(
      WhyRefused(Mlp({{"weights", {{"file", file}, {"prefix", "x."}}}})),
      HasSubstr("experiment.model.weights.prefix: no tensor of"));
  EXPECT_THAT(WhyRefused(Mlp({{"weights", {{"file", folder_ / "none"}}}})),
              HasSubstr("experiment.model.weights.file: "));
}

// ---- freezing
// ----------------------------------------------------------------

TEST(FreezeTest, LeavesOutWhatThePatternsFit) {
  const Built built = Build(Mlp({{"freeze", "net.0"}}));
  EXPECT_FALSE(built.At("net.0.weight").requires_grad());
  EXPECT_FALSE(built.At("net.0.bias").requires_grad());
  EXPECT_TRUE(built.At("net.2.weight").requires_grad());
  EXPECT_THAT(WhyRefused(Mlp({{"freeze", {"net.0", "encoder"}}})),
              HasSubstr("experiment.model.freeze: \"encoder\" fits no "
                        "parameter of the model; the first is called "
                        "\"net.0.weight\""));
}

TEST(FreezeTest, KeepsTheStatisticsOfFrozenNormalizations) {
  for (const bool frozen : {false, true}) {
    // model.3 is the normalization.
    const Built built = Build(PatchGan(
        {{"freeze", frozen ? Json{"model.3.*"} : Json{"model.3.bias"}}}));
    built.model->SetTraining(true);
    built.model->Forward({{"input", at::rand({2, 3, 16, 16})}});
    EXPECT_EQ(built.At("model.3.running_mean").eq(0).all().item<bool>(),
              frozen);
    EXPECT_EQ(built.At("model.3.num_batches_tracked").item<int64_t>(),
              frozen ? 0 : 1);
  }
}

TEST(FreezeTest, ReachesBothSidesOfAGan) {
  const Built built = Build(
      {{"type", "GanModel"},
       {"generator",
        {{"type", "EDSR"}, {"features", 2}, {"blocks", 1}, {"upscale", 2}}},
       {"discriminator", PatchGan()},
       {"freeze", {"generator.body", "discriminator.model.3"}}});
  EXPECT_FALSE(built.At("generator.body.0.conv1.weight").requires_grad());
  EXPECT_TRUE(built.At("generator.conv_last.weight").requires_grad());
  built.model->SetTraining(true);
  dynamic_cast<AdversarialModel&>(*built.model)
      .Discriminate(at::rand({2, 3, 16, 16}));
  EXPECT_EQ(
      built.At("discriminator.model.3.num_batches_tracked").item<int64_t>(), 0);
}

TEST(FreezeTest, TrainsTheRestAlone) {
  Json json = DigitsExperiment(1);
  json["model"]["freeze"] = {"net.0"};
  TestRun run(json);
  std::vector<NamedTensor> before;
  for (const NamedTensor& each : run.trainer().model().Parameters()) {
    before.push_back({each.name, each.tensor.detach().clone()});
  }
  run.trainer().Start();
  run.trainer().Run();
  size_t i = 0;
  for (const NamedTensor& each : run.trainer().model().Parameters()) {
    EXPECT_EQ(each.tensor.equal(before[i++].tensor),
              each.name.starts_with("net.0."))
        << each.name;
  }
}

}  // namespace
}  // namespace epochd::engine
