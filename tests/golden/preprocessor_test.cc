// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/preprocessor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/golden/golden.h"
#include "worker/engine/data/batch_augments.h"

namespace epochd::engine {
namespace {

void ExpectTensor(const at::Tensor& tensor, const nlohmann::json& recorded) {
  EXPECT_EQ(tensor.sizes().vec(),
            recorded.at("shape").get<std::vector<int64_t>>());
  golden::ExpectValues(tensor, recorded.at("values"), 1e-6);
}

TEST(GoldenPreprocessorTest, DoesWhatMMEnginesImgDataPreprocessorDoes) {
  const auto recorded = golden::Read("preprocessor").at("preprocessor");
  ASSERT_EQ(recorded.size(), 4u);
  for (const auto& each : recorded) {
    SCOPED_TRACE(each.at("options").dump());
    const auto& given = each.at("options");
    DevicePreprocessor::Options options;
    options.mean = given.value("mean", std::vector<double>());
    options.std = given.value("std", std::vector<double>());
    options.swap_channels = given.value("bgr_to_rgb", false);
    options.pad_multiple = given.value("pad_size_divisor", int64_t{1});
    options.pad_value = given.value("pad_value", 0.0);
    const std::vector<int64_t> shape = each.at("shape");
    const Batch batch{{"input", golden::Fill(shape, each.at("stream"))}};
    const Batch done = DevicePreprocessor(options).Receive(batch, at::kCPU, {});
    ExpectTensor(done.At("input"), each.at("output"));
    if (options.pad_multiple == 1) continue;
    const at::Tensor& mask = done.At("mask");
    EXPECT_EQ(mask.sum().item<int64_t>(), shape[0] * shape[2] * shape[3]);
    EXPECT_TRUE(
        mask.slice(2, 0, shape[2]).slice(3, 0, shape[3]).all().item<bool>());
  }
}

TEST(GoldenPreprocessorTest, MixesAsTorchvisionDoes) {
  const auto recorded = golden::Read("preprocessor").at("mix");
  ASSERT_EQ(recorded.size(), 7u);
  const MixedFields fields{.num_classes = 3};
  for (const auto& each : recorded) {
    Batch batch{{"input", golden::Fill({4, 2, 6, 5}, 12)},
                {"target", at::tensor({2, 0, 1, 2}, at::kLong)}};
    const double lambda = each.at("lambda");
    SCOPED_TRACE(each.at("kind").get<std::string>() + " " +
                 std::to_string(lambda));
    if (each.at("kind") == "mixup") {
      MixUp(fields, 1.0).Mix(batch, lambda);
    } else {
      CutMix(fields, 1.0)
          .Paste(batch,
                 CutMix::BoxOf(lambda, each.at("y"), each.at("x"), 6, 5));
    }
    ExpectTensor(batch.At("input"), each.at("output"));
    ExpectTensor(batch.At("target"), each.at("target"));
  }
}

TEST(GoldenPreprocessorTest, MosaicTakesEachQuarterFromItsNeighbour) {
  const auto recorded = golden::Read("preprocessor").at("mosaic");
  ASSERT_EQ(recorded.size(), 3u);
  for (const auto& each : recorded) {
    SCOPED_TRACE(each.at("shape").dump());
    const std::vector<int64_t> shape = each.at("shape");
    Batch batch{{"input", golden::Fill(shape, 12)},
                {"target", at::tensor({2, 0, 1, 2}, at::kLong)}};
    Mosaic({.num_classes = 3}, 0.25).Join(batch, each.at("y"), each.at("x"));
    ExpectTensor(batch.At("input"), each.at("output"));
    ExpectTensor(batch.At("target"), each.at("target"));
  }
}

}  // namespace
}  // namespace epochd::engine
