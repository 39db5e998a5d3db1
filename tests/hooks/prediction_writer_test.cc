// SPDX-License-Identifier: Apache-2.0
#include "hooks/prediction_writer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/safetensors.h"

namespace epochd::hooks {
namespace {

using engine::Json;

Json PredictDigits(const Json& hooks) {
  Json json = engine::DigitsExperiment(1);
  json["task"] = "predict";
  json["data"]["predict"] = json["data"]["val"];
  json["data"]["predict"]["batch_size"] = 100;
  json["hooks"] = hooks;
  return json;
}

TEST(PredictionWriterTest, WritesWhatIsPredictedInTheOrderOfTheDataSet) {
  const engine::TempFolder output;
  engine::TestRun run(PredictDigits(Json::array({{{"type", "PredictionWriter"},
                                                  {"format", "safetensors"}}})),
                      output.path());
  const auto result = run.trainer().Predict();
  ASSERT_TRUE(result.has_value());
  const auto written =
      engine::ReadSafetensors(output / "predictions/predictions.safetensors");
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].name, "output");
  EXPECT_TRUE(at::equal(written[0].tensor, result->joined.At("output")));
  EXPECT_EQ(written[0].tensor.size(0), 359);
}

TEST(PredictionWriterTest, NeedsNothingToBeKept) {
  const engine::TempFolder output;
  Json json = PredictDigits(
      Json::array({{{"type", "PredictionWriter"}, {"format", "csv"}}}));
  json["prediction_runner"] = {{"type", "PredictionRunner"}, {"join", false}};
  engine::TestRun run(json, output.path());
  const auto result = run.trainer().Predict();
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->joined.empty());
  std::ifstream file(output / "predictions/predictions.csv");
  size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 360u);
}

TEST(PredictionWriterTest, LeavesNoResultOfAPredictionThatFailed) {
  const engine::TempFolder output;
  engine::TestRun run(
      PredictDigits(Json::array({{{"type", "PredictionWriter"}}})),
      output.path());
  run.trainer().prediction_runner().on_post_step.Bind(
      [](engine::PredictionContext& context) {
        if (context.batch == 1) throw std::runtime_error("boom");
      });
  EXPECT_THROW(run.trainer().Predict(), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(output / "predictions/output.npy"));
}

}  // namespace
}  // namespace epochd::hooks
