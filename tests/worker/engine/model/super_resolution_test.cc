// SPDX-License-Identifier: Apache-2.0
// examples/sr.yaml and sr_gan.yaml, short: the parts that only meet there.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/safetensors.h"

namespace epochd::engine {
namespace {

std::string Photographs() {
  const char* source = getenv("EPOCHD_TEST_SOURCE_DIR");
  return std::string(source != nullptr ? source : ".") + "/examples/data/sr";
}

Json Data() {
  Json data = Json::parse(R"json({
    "train": {"type": "SuperResolution", "include": ["astronaut.png"],
              "scale": 2, "patch_size": 32, "repeat": 160, "batch_size": 8,
              "shuffle": true},
    "val": {"type": "SuperResolution", "include": ["coffee.png"],
            "scale": 2, "patch_size": 96, "crop": "grid",
            "batch_size": 12}})json");
  data["train"]["folder"] = data["val"]["folder"] = Photographs();
  return data;
}

const Json kEdsr = Json::parse(R"json(
    {"type": "EDSR", "features": 8, "blocks": 1, "upscale": 2})json");

double ValidationPsnr(Json experiment) {
  experiment["task"] = "validate";
  TestRun run(experiment);
  const Scores scores = run.trainer().Evaluate("val");
  return *FindScore(scores, "val/psnr");
}

class SuperResolutionTest : public ::testing::Test {
 protected:
  static Json Experiment() {
    Json experiment = Json::parse(R"json({
      "seed": 1,
      "loss": {"type": "L1"},
      "metrics": [{"type": "PSNR"}],
      "monitor": {"metric": "val/psnr", "mode": "max"},
      "optimizer": {"type": "Adam", "lr": 0.002},
      "trainer": {"type": "EpochTrainer", "epochs": 6}})json");
    experiment["model"] = kEdsr;
    experiment["data"] = Data();
    return experiment;
  }

  static Json GanExperiment(const std::string& weights) {
    Json experiment = Json::parse(R"json({
      "seed": 1,
      "model": {"type": "GanModel",
                "discriminator": {"type": "PatchGAN", "features": 4,
                                  "layers": 1},
                "real": "target"},
      "loss": {"type": "L1", "output": "fake"},
      "metrics": [{"type": "PSNR", "output": "fake"}],
      "monitor": {"metric": "val/psnr", "mode": "max"},
      "optimizers": {"generator": {"type": "Adam", "lr": 0.0001},
                     "discriminator": {"type": "Adam", "lr": 0.0002}},
      "trainer": {"type": "EpochTrainer", "epochs": 1},
      "runner": {"type": "GanTrainingRunner",
                 "d_loss": {"type": "RaGanDiscriminatorLoss"},
                 "g_loss": {"type": "RaGanGeneratorLoss", "weight": 0.002}},
      "hooks": [{"type": "StepRatio", "ratio": 1.0},
                {"type": "DiscriminatorWarmup", "batches": 5},
                {"type": "R1GradientPenalty", "weight": 1.0}]})json");
    experiment["model"]["generator"] = kEdsr;
    experiment["model"]["generator"]["weights"] = {{"file", weights}};
    experiment["data"] = Data();
    return experiment;
  }

  TempFolder folder_;
};

TEST_F(SuperResolutionTest, BicubicIsMeasuredLikeAnyModel) {
  Json experiment = Experiment();
  experiment["model"] = {{"type", "Bicubic"}, {"upscale", 2}};
  // Of the squares that Pillow enlarges: 31.443, rounded to 8 bits.
  EXPECT_NEAR(ValidationPsnr(experiment), 31.443, 0.05);
}

TEST_F(SuperResolutionTest, TrainsAndGoesOnAsTheGeneratorOfAGan) {
  TestRun first(Experiment());
  const double before = ValidationPsnr(Experiment());
  first.trainer().Start();
  first.trainer().Run();
  const double trained = first.trainer().monitor().best;
  EXPECT_GT(trained, before + 8);
  EXPECT_GT(trained, 24);

  const std::string weights = folder_ / "edsr.safetensors";
  WriteSafetensors(weights, first.trainer().model().Parameters());
  const Json gan = GanExperiment(weights);
  // Validation measures what the generator makes against the target.
  const double started = ValidationPsnr(gan);
  EXPECT_GT(started, 24);
  TestRun second(gan);
  const auto discriminator_before = second.Weights();
  Scores scores;
  second.trainer().on_epoch_finished.Bind(
      [&scores](TrainerContext& context) { scores = context.scores; });
  second.trainer().Start();
  second.trainer().Run();
  EXPECT_FALSE(second.Weights().equal(discriminator_before));
  EXPECT_NEAR(second.trainer().monitor().best, started, 2);
  for (const char* name : {"train/g_loss", "train/d_loss", "train/pixel_loss",
                           "train/r1", "val/psnr"}) {
    EXPECT_NE(FindScore(scores, name), nullptr) << name;
  }
}

}  // namespace
}  // namespace epochd::engine
