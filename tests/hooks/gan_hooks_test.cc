// SPDX-License-Identifier: Apache-2.0
//
// Hooks of GAN training: at their points by hand, and in runs on the digits.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "hooks/edge_enhanced_input.h"
#include "hooks/nan_guard.h"
#include "hooks/r1_gradient_penalty.h"
#include "hooks/wgan_gradient_penalty.h"
#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/gan_training_runner.h"

namespace epochd::hooks {
namespace {

using engine::Json;

// D(x) = sum of w x^2 / 2, with a "convolution" of as many channels as asked.
class Quadratic : public engine::AdversarialModel {
 public:
  explicit Quadratic(int64_t channels = 1)
      : weight_(at::full({}, 2.0).set_requires_grad(true)),
        kernel_(at::zeros({1, channels, 3, 3})) {}

  engine::Batch Forward(const engine::Batch&) override { return {}; }
  std::vector<engine::NamedTensor> Parameters() const override {
    return {{"weight", weight_}, {"conv.weight", kernel_}};
  }
  std::vector<engine::NamedTensor> Buffers() const override { return {}; }
  void SetTraining(bool) override {}
  void To(c10::Device) override {}
  engine::Model& generator() override { return *this; }
  engine::Model& discriminator() override { return *this; }
  const std::string& real_field() const override { return field_; }
  at::Tensor Discriminate(const at::Tensor& images) override {
    return (weight_ * images.square() / 2).flatten(1).sum(1);
  }
  at::Tensor Generate(const engine::Batch&, int64_t) override { return {}; }
  const at::Tensor& weight() const { return weight_; }

 private:
  at::Tensor weight_;
  at::Tensor kernel_;
  std::string field_ = "input";
};

// A runner whose points are fired by hand.
struct LentRunner {
  LentRunner() : run(engine::GanExperiment(1)) {}
  engine::GanTrainingRunner& runner() {
    return dynamic_cast<engine::GanTrainingRunner&>(
        run.trainer().training_runner());
  }
  engine::TestRun run;
};

TEST(R1GradientPenaltyTest, Case143IsTheMeanSquareOfTheGradientOfScores) {
  LentRunner lent;
  engine::GanTrainingRunner& runner = lent.runner();
  R1GradientPenalty hook(0.5);
  hook.AttachToGan(runner);
  Quadratic model;
  engine::Batch batch = {{"real", at::tensor({3.0, 1.0}).view({1, 2})}};
  engine::GanContext context;
  context.gan = &model;
  context.entry = &batch;
  runner.on_post_d_forward.Fire(context);
  ASSERT_EQ(context.d_extra_losses.size(), 1u);
  EXPECT_EQ(context.d_extra_losses[0].first, "r1");
  // dD/dx = [6, 2]: the mean of squares is 20, its derivative by w is 20.
  at::Tensor penalty = context.d_extra_losses[0].second;
  EXPECT_DOUBLE_EQ(penalty.item<double>(), 0.5 * 20);
  penalty.backward();
  EXPECT_DOUBLE_EQ(model.weight().grad().item<double>(), 0.5 * 20);
}

at::Tensor RowsOf(const Json& rows) {
  std::vector<double> flat;
  for (const Json& row : rows) {
    for (const Json& value : row) flat.push_back(value.get<double>());
  }
  return at::tensor(flat, at::kDouble)
      .view({static_cast<int64_t>(rows.size()), -1});
}

TEST(WganGradientPenaltyTest, IsThatOfPyTorchAtTheSamePoints) {
  const char* source = getenv("EPOCHD_TEST_SOURCE_DIR");
  std::ifstream file(std::string(source != nullptr ? source : ".") +
                     "/tests/golden/gradient_penalty.json");
  const Json recorded = Json::parse(file);
  LentRunner lent;
  engine::GanTrainingRunner& runner = lent.runner();
  WganGradientPenalty hook(recorded.at("weight"));
  hook.AttachToGan(runner);
  Quadratic model;
  engine::Batch batch = {{"real", RowsOf(recorded.at("real"))},
                         {"fake", RowsOf(recorded.at("fake"))}};
  engine::GanContext context;
  context.gan = &model;
  context.entry = &batch;
  at::manual_seed(recorded.at("seed").get<uint64_t>());
  runner.on_post_d_forward.Fire(context);
  ASSERT_EQ(context.d_extra_losses.size(), 1u);
  EXPECT_EQ(context.d_extra_losses[0].first, "gradient_penalty");
  at::Tensor penalty = context.d_extra_losses[0].second;
  EXPECT_NEAR(penalty.item<double>(), recorded.at("penalty").get<double>(),
              1e-12);
  penalty.backward();
  // The weight is a float.
  EXPECT_NEAR(model.weight().grad().item<double>(),
              recorded.at("derivative").get<double>(), 1e-4);
}

TEST(WganGradientPenaltyTest, NeedsFakesOfTheShapeOfRealSamples) {
  LentRunner lent;
  WganGradientPenalty hook(1.0);
  hook.AttachToGan(lent.runner());
  Quadratic model;
  engine::Batch batch = {{"real", at::ones({2, 3})},
                         {"fake", at::ones({2, 2})}};
  engine::GanContext context;
  context.gan = &model;
  context.entry = &batch;
  EXPECT_THROW(lent.runner().on_post_d_forward.Fire(context), engine::Error);
}

TEST(EdgeEnhancedInputTest, AddsTheLaplacianOfTheGrayImage) {
  const at::Tensor image = at::zeros({1, 3, 3, 3});
  image[0][0][1][1].fill_(1.0);
  const at::Tensor enhanced = WithEdges(image);
  EXPECT_TRUE(at::equal(enhanced.slice(1, 0, 3), image));
  const at::Tensor edges = enhanced.select(1, 3)[0];
  EXPECT_NEAR(edges[1][1].item<double>(), -4 * 0.299, 1e-6);
  EXPECT_NEAR(edges[0][1].item<double>(), 0.299, 1e-6);
  EXPECT_EQ(edges[0][0].item<double>(), 0);
  // One channel is its own gray version; others are averaged.
  const at::Tensor one = at::ones({1, 1, 3, 3});
  EXPECT_EQ(WithEdges(one)[0][1][1][1].item<double>(), 0);
  EXPECT_EQ(WithEdges(one)[0][1][0][0].item<double>(), -2);
  EXPECT_EQ(WithEdges(at::ones({1, 2, 3, 3}))[0][2][0][1].item<double>(), -1);
}

TEST(EdgeEnhancedInputTest, LeavesWhatTheDiscriminatorTakesAlone) {
  LentRunner lent;
  engine::GanTrainingRunner& runner = lent.runner();
  EdgeEnhancedInput hook({{"real", "real"}, {"fake", "fake"}});
  hook.AttachToGan(runner);
  Quadratic model(/*channels=*/2);
  engine::Batch batch = {{"real", at::ones({2, 1, 4, 4})},
                         {"fake", at::ones({2, 1, 4, 4})}};
  engine::GanContext context;
  context.gan = &model;
  context.entry = &batch;
  runner.on_pre_d_forward.Fire(context);
  EXPECT_EQ(batch.At("real").size(1), 2);
  runner.on_pre_g_forward.Fire(context);
  EXPECT_EQ(batch.At("real").size(1), 2);
  EXPECT_EQ(batch.At("fake").size(1), 2);
}

TEST(EdgeEnhancedInputTest, TrainsADiscriminatorOfOneMoreChannel) {
  Json json = engine::GanExperiment(1);
  json["model"]["discriminator"]["channels"] = 2;
  json["data"]["train"]["image"] = true;
  json["hooks"] = Json::array({{{"type", "EdgeEnhancedInput"}}});
  engine::TestRun run(json);
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_TRUE(run.Weights().isfinite().all().item<bool>());
}

TEST(EdgeEnhancedInputTest, GrowsTheInputOfAModelInEveryPass) {
  Json json = engine::DigitsExperiment(1);
  for (const char* part : {"train", "val"}) {
    json["data"][part]["image"] = true;
    json["data"][part].erase("transforms");
  }
  json["model"] = {{"type", "MLP"},
                   {"in_features", 2 * 64},
                   {"hidden", {8}},
                   {"out_features", 10}};
  json["hooks"] = Json::array({{{"type", "EdgeEnhancedInput"}}});
  {
    engine::TestRun run(json);
    run.trainer().Start();
    run.trainer().Run();
    EXPECT_TRUE(run.Weights().isfinite().all().item<bool>());
  }
  json["task"] = "predict";
  json["data"]["predict"] = json["data"]["val"];
  engine::TestRun run(json);
  EXPECT_EQ(run.trainer().Predict()->joined.At("output").size(1), 10);
}

// "DG D DG": what each batch trained.
std::string Sequence(engine::TestRun& run) {
  auto& runner =
      dynamic_cast<engine::GanTrainingRunner&>(run.trainer().training_runner());
  std::string sequence;
  runner.on_post_step.Bind([&](engine::GanContext& context) {
    sequence += std::string(sequence.empty() ? "" : " ") +
                (context.run_d ? "D" : "") + (context.run_g ? "G" : "");
  });
  run.trainer().Run();
  return sequence;
}

TEST(DiscriminatorWarmupTest, Case146WarmsUpOnceInAJob) {
  Json json = engine::GanExperiment(2);
  json["data"]["train"]["batch_size"] = 288;  // five batches an epoch
  json["hooks"] =
      Json::array({{{"type", "DiscriminatorWarmup"}, {"batches", 3}}});
  engine::Snapshot middle;
  engine::TestRun whole(json);
  whole.trainer().on_epoch_committed.Bind([&](engine::TrainerContext& context) {
    if (context.epoch != 0) return;
    middle = engine::KeptSnapshot(whole.trainer());
  });
  whole.trainer().Start();
  EXPECT_EQ(Sequence(whole), "D D D DG DG DG DG DG DG DG");
  engine::TestRun resumed(json);
  resumed.trainer().Restore(middle);
  EXPECT_EQ(Sequence(resumed), "DG DG DG DG DG");
}

TEST(NanGuardTest, LeavesOutTheSideWhoseGradientsAreNotFinite) {
  Json json = engine::GanExperiment(1);
  json["hooks"] = Json::array();
  engine::TestRun run(json);
  auto& runner =
      dynamic_cast<engine::GanTrainingRunner&>(run.trainer().training_runner());
  runner.on_post_g_backward.Bind([](engine::GanContext& context) {
    if (context.batch == 1) {
      context.generator_optimizer->parameters()[0].tensor.mutable_grad().fill_(
          NAN);
    }
  });
  run.trainer().AddHook(std::make_shared<NanGuard>(2));
  run.trainer().Start();
  run.trainer().Run();
  const std::vector<Json> notices = run.sink.Of("notice");
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].dump().find("NanGuard: generator: gradients are"),
            std::string::npos)
      << notices[0];
  EXPECT_EQ(runner.State()["generator"]["faults"], 1);
  EXPECT_EQ(runner.State()["discriminator"]["faults"], 0);
  EXPECT_TRUE(run.Weights().isfinite().all().item<bool>());
}

TEST(StepRatioTest, StepsOfAWarmUpDoNotCount) {
  for (bool warmup_first : {false, true}) {
    Json json = engine::GanExperiment(1);
    json["data"]["train"]["batch_size"] = 144;  // ten batches
    const Json ratio = {{"type", "StepRatio"}, {"ratio", 2.0}};
    const Json warmup = {{"type", "DiscriminatorWarmup"}, {"batches", 4}};
    json["hooks"] = warmup_first ? Json::array({warmup, ratio})
                                 : Json::array({ratio, warmup});
    engine::TestRun run(json);
    run.trainer().Start();
    // The last batch trains both.
    EXPECT_EQ(Sequence(run), "D D D D DG G DG G DG DG");
  }
}

}  // namespace
}  // namespace epochd::hooks
