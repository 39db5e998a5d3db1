// SPDX-License-Identifier: Apache-2.0
//
// Values and gradients of losses, and PSNR, are Python's.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/golden/golden.h"
#include "worker/engine/loss/binary.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/loss/pointwise.h"
#include "worker/engine/loss/ragan.h"
#include "worker/engine/metric/psnr.h"

namespace epochd::engine {
namespace {

class LossesTest : public ::testing::Test {
 protected:
  // Checks value and gradient of `loss` on a batch {output, target}.
  void Check(const std::string& name, const Loss& loss,
             const at::Tensor& output, const at::Tensor& target) {
    SCOPED_TRACE(name);
    const at::Tensor leaf = output.detach().clone().requires_grad_();
    const at::Tensor value =
        loss.Compute({{"output", leaf}, {"target", target}});
    EXPECT_NEAR(value.item<double>(), recorded_[name]["loss"].get<double>(),
                1e-6);
    value.backward();
    golden::ExpectValues(leaf.grad(), recorded_[name]["gradients"][0], 1e-5);
  }

  const nlohmann::json recorded_ = golden::Read("losses");
  const at::Tensor scores_ = golden::Fill({6, 5}, 10) * 8;
  const at::Tensor classes_ = torch::tensor({0, 4, 2, 2, 1, 3});
  const at::Tensor image_ = golden::Fill({3, 2, 4, 4}, 12) * 2;
  const at::Tensor other_ = golden::Fill({3, 2, 4, 4}, 13) * 2;
  const at::Tensor binary_ = golden::Fill({6, 5}, 14) > 0;
  const std::vector<double> class_weights_{0.5, 1.0, 2.0, 1.5, 0.25};
};

TEST_F(LossesTest, CrossEntropyIsPythons) {
  Check("cross_entropy", CrossEntropyLoss({}), scores_, classes_);
  CrossEntropyLoss::Options options;
  options.label_smoothing = 0.1;
  options.class_weights = class_weights_;
  options.ignore_index = 1;
  Check("cross_entropy_smooth", CrossEntropyLoss(options), scores_, classes_);
  const at::Tensor probabilities =
      torch::tensor(golden::Doubles(recorded_["probabilities"]), torch::kDouble)
          .reshape({6, 5});
  Check("cross_entropy_probabilities", CrossEntropyLoss({}), scores_,
        probabilities);
}

TEST_F(LossesTest, PointwiseLossesArePythons) {
  Check("mse", MseLoss({}), image_, other_);
  Check("l1", L1Loss({}), image_, other_);
  Check("bce", BceWithLogitsLoss({}), scores_, binary_);
  BceWithLogitsLoss::Options options;
  options.pos_weight = class_weights_;
  Check("bce_pos_weight", BceWithLogitsLoss(options), scores_, binary_);
}

TEST_F(LossesTest, RaGanPairIsPythons) {
  const at::Tensor real = (golden::Fill({8}, 15) * 6).requires_grad_();
  const at::Tensor fake = (golden::Fill({8}, 16) * 6 - 1).requires_grad_();
  const Batch batch{{"score_real", real}, {"score_fake", fake}};
  const at::Tensor d_loss = RaGanDiscriminatorLoss({}).Compute(batch);
  EXPECT_NEAR(d_loss.item<double>(), recorded_["ragan_d"]["loss"].get<double>(),
              1e-6);
  d_loss.backward();
  golden::ExpectValues(real.grad(), recorded_["ragan_d"]["gradients"][0], 1e-5);
  golden::ExpectValues(fake.grad(), recorded_["ragan_d"]["gradients"][1], 1e-5);

  real.mutable_grad().reset();
  fake.mutable_grad().reset();
  const at::Tensor g_loss = RaGanGeneratorLoss({}).Compute(batch);
  EXPECT_NEAR(g_loss.item<double>(), recorded_["ragan_g"]["loss"].get<double>(),
              1e-6);
  g_loss.backward();
  golden::ExpectValues(fake.grad(), recorded_["ragan_g"]["gradients"][0], 1e-5);
  EXPECT_FALSE(real.grad().defined());
}

TEST_F(LossesTest, PsnrIsPythonsHoweverBatched) {
  Psnr::Options options;
  options.data_range = 2.0;
  Psnr psnr(options);
  psnr.Update(
      {{"output", image_.slice(0, 0, 2)}, {"target", other_.slice(0, 0, 2)}});
  psnr.Update({{"output", image_.slice(0, 2)}, {"target", other_.slice(0, 2)}});
  EXPECT_NEAR(psnr.Values(psnr.Sums())[0].second,
              recorded_["psnr"].get<double>(), 1e-6);
}

}  // namespace
}  // namespace epochd::engine
