// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/model_summary.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<Model> Build(const std::string& job) {
  const Json nothing = Json::object();
  BuildScope scope(TestRegistry(), nothing, "experiment");
  return scope.MakeAs<Model>(Json::parse(job), "experiment.model");
}

ModelSummary SummaryOf(const std::string& job, at::IntArrayRef shape) {
  return Summarize(*Build(job), {{"input", at::rand(shape)}});
}

TEST(ModelSummaryTest, ListsLayersInTheOrderInWhichTheyRun) {
  const ModelSummary summary = SummaryOf(
      R"({"type": "MLP", "in_features": 6, "hidden": [5], "out_features": 3})",
      {2, 6});
  ASSERT_EQ(summary.rows.size(), 2u);
  EXPECT_EQ(summary.rows[0].layer, "net.0");
  EXPECT_EQ(summary.rows[0].operation, "linear");
  EXPECT_EQ(summary.rows[0].output_shape, (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(summary.rows[0].parameters, 6 * 5 + 5);
  EXPECT_EQ(summary.rows[0].multiply_adds, 2 * 6 * 5);
  EXPECT_EQ(summary.rows[1].layer, "net.2");
  EXPECT_EQ(summary.multiply_adds, 2 * (6 * 5 + 5 * 3));
  EXPECT_EQ(summary.parameters, 35 + 18);
  EXPECT_THAT(summary.Table(), HasSubstr("layer  operation  output"));
  EXPECT_EQ(summary.Totals(), "53 parameters, 90 multiply-adds for 2 samples");
}

// 1.81 G multiply-adds and 11,689,512 parameters are what torchvision states.
TEST(ModelSummaryTest, CountsWhatTorchvisionSaysOfResNet18) {
  const ModelSummary summary =
      SummaryOf(R"({"type": "ResNet", "depth": 18})", {1, 3, 224, 224});
  EXPECT_EQ(summary.parameters, 11'689'512);
  EXPECT_NEAR(static_cast<double>(summary.multiply_adds), 1.814e9, 0.002e9);
  int64_t in_rows = 0;
  for (const ModelSummary::Row& row : summary.rows) in_rows += row.parameters;
  EXPECT_EQ(in_rows, summary.parameters);
}

TEST(ModelSummaryTest, CountsTransposedConvolutionsAttentionAndRecurrence) {
  const ModelSummary unet =
      SummaryOf(R"({"type": "UNet", "features": 1})", {1, 3, 16, 16});
  for (const ModelSummary::Row& row : unet.rows) {
    if (row.layer != "upconv1") continue;
    EXPECT_EQ(row.operation, "conv_transpose2d");
    EXPECT_EQ(row.multiply_adds, 8 * 8 * 2 * 4);
  }
  // 5 tokens of 8 values in 2 heads.
  const ModelSummary vit = SummaryOf(
      R"({"type": "ViT", "image_size": 4, "patch_size": 2, "layers": 1,
          "heads": 2, "hidden": 8, "mlp": 8})",
      {1, 3, 4, 4});
  const auto attention = std::find_if(
      vit.rows.begin(), vit.rows.end(), [](const ModelSummary::Row& row) {
        return row.operation == "scaled_dot_product_attention";
      });
  ASSERT_NE(attention, vit.rows.end());
  EXPECT_EQ(attention->multiply_adds, 2 * 5 * 5 * (4 + 4));
  const ModelSummary crnn = SummaryOf(
      R"({"type": "ECG_CRNN", "num_classes": 2, "width": 2, "lstm": [3],
          "reduction": 2})",
      {1, 12, 512});
  const auto lstm = std::find_if(
      crnn.rows.begin(), crnn.rows.end(),
      [](const ModelSummary::Row& row) { return row.operation == "lstm"; });
  ASSERT_NE(lstm, crnn.rows.end());
  EXPECT_EQ(lstm->layer, "rnn.bidirectional_lstm_1");
  // 2 steps, both directions, four gates of 3 units with 10 and 3 inputs.
  EXPECT_EQ(lstm->multiply_adds, 2 * 2 * 4 * 3 * (10 + 3));
  EXPECT_EQ(lstm->parameters, 2 * (4 * 3 * (10 + 3) + 2 * 4 * 3));
}

TEST(ModelSummaryTest, LeavesNoTrace) {
  const auto model = Build(
      R"({"type": "GanModel",
          "generator": {"type": "DcGenerator", "latent": 4, "channels": 1,
                        "size": 8, "width": 4},
          "discriminator": {"type": "PatchGAN", "in_channels": 1,
                            "features": 2, "layers": 1},
          "freeze": "discriminator.model.0"})");
  model->SetTraining(true);
  std::vector<at::Tensor> before;
  for (const NamedTensor& each : model->Buffers()) {
    before.push_back(each.tensor.clone());
  }
  const Batch batch{{"input", at::rand({2, 1, 8, 8})},
                    {"target", at::rand({2})}};
  at::manual_seed(3);
  const at::Tensor expected = at::rand({4});
  at::manual_seed(3);
  const ModelSummary summary = Summarize(*model, batch, /*training=*/true);
  EXPECT_TRUE(at::rand({4}).equal(expected));
  size_t i = 0;
  for (const NamedTensor& each : model->Buffers()) {
    EXPECT_TRUE(each.tensor.equal(before[i++])) << each.name;
  }
  EXPECT_LT(summary.trained, summary.parameters);
  EXPECT_THAT(summary.Totals(), HasSubstr(" trained)"));
  EXPECT_EQ(summary.rows.front().layer, "generator.main.0");
  EXPECT_EQ(summary.rows.back().layer, "discriminator.model.5");
}

TEST(ModelSummaryTest, IsWrittenByItsHookAndChangesNothing) {
  const TempFolder folder;
  Json json = DigitsExperiment(1);
  TestRun plain(json);
  plain.trainer().Start();
  plain.trainer().Run();
  json["hooks"].push_back({{"type", "ModelSummary"}});
  TestRun told(json, folder.path());
  told.trainer().Start();
  told.trainer().Run();
  EXPECT_TRUE(told.Weights().equal(plain.Weights()));
  std::ifstream file(folder / "model_summary.txt");
  const std::string table(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(table, HasSubstr("net.0  linear     1x16         1,040"));
  EXPECT_THAT(table, HasSubstr("for 1 sample\n"));
  bool was_told = false;
  for (const Json& notice : told.sink.Of("notice")) {
    was_told |= notice["text"].get<std::string>().starts_with("model: 1,");
  }
  EXPECT_TRUE(was_told);
}

}  // namespace
}  // namespace epochd::engine
