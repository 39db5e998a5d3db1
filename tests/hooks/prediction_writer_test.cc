// SPDX-License-Identifier: Apache-2.0
#include "hooks/prediction_writer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/data/image/image.h"

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

// Images of different sizes, by a model that makes them twice as large.
TEST(PredictionWriterTest, WritesAnImageForEachSampleOfAnySize) {
  const engine::TempFolder output;
  const engine::TempFolder images;
  const std::filesystem::path recorded =
      std::filesystem::path(std::getenv("EPOCHD_TEST_SOURCE_DIR")) /
      "tests/golden/images";
  std::filesystem::copy_file(recorded / "rgb.png", images / "a.png");
  std::filesystem::copy_file(recorded / "degrade.png", images / "b.png");
  Json json = PredictDigits(
      Json::array({{{"type", "PredictionWriter"}, {"format", "png"}}}));
  json["model"] = {{"type", "EDSR"}, {"scale", 2}};
  json["data"]["predict"] = {
      {"type", "ImageFiles"}, {"folder", images.path()}, {"batch_size", 1}};
  json["prediction_runner"] = {{"type", "PredictionRunner"}, {"join", false}};
  engine::TestRun run(json, output.path());
  std::vector<at::Tensor> outputs;
  run.trainer().prediction_runner().on_post_step.Bind(
      [&](engine::PredictionContext& context) {
        outputs.push_back(context.outputs.At("output")[0]);
      });
  ASSERT_TRUE(run.trainer().Predict().has_value());
  ASSERT_EQ(outputs.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const std::string path =
        output / ("predictions/output/00000" + std::to_string(i) + ".png");
    const engine::FileContent content = engine::ReadImageFile(path);
    EXPECT_TRUE(at::equal(
        engine::DecodeImage(content.view(), path),
        outputs[i].detach().mul(255).round().clamp(0, 255).to(at::kByte)));
  }
}

// Two images of a batch that were padded alike.
TEST(PredictionWriterTest, WritesNoPaddingAndTellsWhichSampleIsWhich) {
  const engine::TempFolder output;
  const engine::TempFolder images;
  std::vector<std::vector<int64_t>> sizes;
  for (const char* name : {"rgb.png", "degrade.png"}) {
    const std::string to = images / name;
    std::filesystem::copy_file(
        std::filesystem::path(std::getenv("EPOCHD_TEST_SOURCE_DIR")) /
            "tests/golden/images" / name,
        to);
  }
  const std::vector<std::string> in_order = {images / "degrade.png",
                                             images / "rgb.png"};
  for (const std::string& path : in_order) {
    const engine::FileContent content = engine::ReadImageFile(path);
    sizes.push_back(engine::DecodeImage(content.view(), path).sizes().vec());
  }
  ASSERT_NE(sizes[0], sizes[1]);
  Json json = PredictDigits(
      Json::array({{{"type", "PredictionWriter"}, {"format", "png"}}}));
  json["model"] = {{"type", "EDSR"}, {"scale", 2}};
  json["data"]["predict"] = {{"type", "ImageFiles"},
                             {"folder", images.path()},
                             {"batch_size", 2},
                             {"pad_batches", {{"dims", 2}}}};
  engine::TestRun run(json, output.path());
  ASSERT_TRUE(run.trainer().Predict().has_value());
  for (size_t i = 0; i < 2; ++i) {
    const std::string path =
        output / ("predictions/output/00000" + std::to_string(i) + ".png");
    const engine::FileContent content = engine::ReadImageFile(path);
    EXPECT_EQ(
        engine::DecodeImage(content.view(), path).sizes().vec(),
        (std::vector<int64_t>{sizes[i][0], 2 * sizes[i][1], 2 * sizes[i][2]}));
  }
  std::ifstream file(output / "predictions/samples.csv");
  const std::string names(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(names, "index,name\n0,\"" + in_order[0] + "\"\n1,\"" + in_order[1] +
                       "\"\n");
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
