// SPDX-License-Identifier: Apache-2.0
//
// Values are compared with Python's in tests/golden; here is what is ours.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <string>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/metric/psnr.h"
#include "worker/engine/metric/regression.h"
#include "worker/engine/metric/similarity.h"

namespace epochd::engine {
namespace {

double ValueOf(const Metric& metric) {
  return metric.Values(metric.Sums())[0].second;
}

std::string MessageOf(Metric& metric, const Batch& batch) {
  return ErrorOf([&] { metric.Update(batch); });
}

TEST(PsnrTest, RefusesBordersOfWhatIsNoImage) {
  Psnr::Options options;
  options.crop_border = 4;
  Psnr metric(options);
  EXPECT_EQ(MessageOf(metric, {{"output", torch::zeros({2, 3, 8, 9})},
                               {"target", torch::zeros({2, 3, 8, 9})}}),
            "batch field \"output\": shape [2, 3, 8, 9]; images [B, C, H, W] "
            "of more than 8 pixels each way are accepted with crop_border or "
            "y_channel");
  options.crop_border = 0;
  options.luma = true;
  Psnr luma(options);
  EXPECT_NE(MessageOf(luma, {{"output", torch::zeros({2, 1, 8, 9})},
                             {"target", torch::zeros({2, 1, 8, 9})}}),
            "");
}

TEST(PsnrTest, AnImageThatHasNothingToCountIsLeftOut) {
  Psnr::Options options;
  options.weighing.mask = "mask";
  Psnr metric(options);
  const at::Tensor output = torch::full({2, 1, 2, 2}, 0.1, torch::kDouble);
  at::Tensor odd = output.clone();
  odd[1].fill_(NAN);
  metric.Update({{"output", odd},
                 {"target", torch::zeros({2, 1, 2, 2})},
                 {"mask", torch::tensor({1.0f, 0.0f})}});
  EXPECT_NEAR(ValueOf(metric), 20, 1e-9);
  Similarity::Options similarity;
  similarity.weighing.mask = "mask";
  similarity.ssim.window = 3;
  Similarity ssim(similarity);
  const at::Tensor image = torch::rand({2, 1, 5, 5});
  ssim.Update({{"output", image},
               {"target", image},
               {"mask", torch::tensor({1.0f, 0.0f})}});
  EXPECT_NEAR(ValueOf(ssim), 1, 1e-9);
}

TEST(PsnrTest, SampleWeightsAreOfImages) {
  Psnr::Options options;
  options.weighing = {.mask = "mask", .sample_weight = "w"};
  Psnr metric(options);
  at::Tensor output = torch::full({3, 1, 2, 2}, 0.1, torch::kDouble);
  output[1].fill_(0.01);
  output[2].fill_(NAN);
  const Batch batch{{"output", output},
                    {"target", torch::zeros({3, 1, 2, 2})},
                    {"mask", torch::tensor({0.5f, 1.0f, 0.0f})},
                    {"w", torch::tensor({3.0f, 1.0f, 5.0f})}};
  metric.Update(batch);
  EXPECT_NEAR(ValueOf(metric), (3 * 20 + 1 * 40) / 4.0, 1e-9);
  options.weighing.mask = "";
  Psnr unmasked(options);
  Batch last = batch;
  last.Set("w", torch::tensor({3.0f, 1.0f, 0.0f}));
  unmasked.Update(last);
  EXPECT_NEAR(ValueOf(unmasked), 25, 1e-9);
  Similarity::Options similarity;
  similarity.weighing.sample_weight = "w";
  similarity.ssim.window = 3;
  const auto value = [&](std::vector<float> weights) {
    Similarity ssim(similarity);
    torch::manual_seed(1);
    ssim.Update({{"output", torch::rand({2, 1, 5, 5})},
                 {"target", torch::rand({2, 1, 5, 5})},
                 {"w", torch::tensor(weights)}});
    return ValueOf(ssim);
  };
  EXPECT_NEAR(value({3, 1}), (3 * value({1, 0}) + value({0, 1})) / 4, 1e-9);
}

TEST(ErrorMetricTest, SampleWeightsAreOfElementsOrOfSamplesRatios) {
  ErrorMetric::Options options;
  options.weighing.sample_weight = "w";
  const Batch batch{{"output", torch::tensor({{1.0}, {4.0}})},
                    {"target", torch::tensor({2.0, 1.0})},
                    {"w", torch::tensor({3.0, 1.0})}};
  ErrorMetric mae(options);
  mae.Update(batch);
  EXPECT_DOUBLE_EQ(ValueOf(mae), (3 * 1 + 1 * 3) / 4.0);
  options.kind = ErrorMetric::Kind::kRelativeL2;
  options.per_sample = true;
  ErrorMetric relative(options);
  relative.Update(batch);
  EXPECT_DOUBLE_EQ(ValueOf(relative), (3 * 0.5 + 1 * 3) / 4.0);
}

TEST(ErrorMetricTest, ATruthOfNothingHasNoRelativeError) {
  ErrorMetric::Options options;
  options.kind = ErrorMetric::Kind::kRelativeL2;
  ErrorMetric total(options);
  options.per_sample = true;
  ErrorMetric by_sample(options);
  const Batch batch{{"output", torch::tensor({{1.0, 1.0}, {3.0, 3.0}})},
                    {"target", torch::tensor({{0.0, 0.0}, {1.0, 1.0}})}};
  by_sample.Update(batch);
  EXPECT_DOUBLE_EQ(ValueOf(by_sample), 2);
  total.Update({{"output", torch::ones({3})}, {"target", torch::zeros({3})}});
  EXPECT_TRUE(std::isnan(ValueOf(total)));
}

TEST(ErrorMetricTest, RootsAreTakenOfTheWholeEpoch) {
  ErrorMetric::Options options;
  options.kind = ErrorMetric::Kind::kRmse;
  ErrorMetric metric(options);
  metric.Update(
      {{"output", torch::full({1}, 3.0)}, {"target", torch::zeros({1})}});
  metric.Update(
      {{"output", torch::full({3}, 1.0)}, {"target", torch::zeros({3})}});
  EXPECT_DOUBLE_EQ(ValueOf(metric), std::sqrt(3.0));
}

}  // namespace
}  // namespace epochd::engine
