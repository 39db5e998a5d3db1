// SPDX-License-Identifier: Apache-2.0
//
// Balancers give the losses of a physics-informed run the weights that
// PhiJAX's give them, and the losses are the same.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <numbers>

#include "tests/golden/golden.h"
#include "worker/engine/loop/criterion.h"
#include "worker/engine/loss/balancer.h"
#include "worker/engine/loss/pde_residual.h"
#include "worker/engine/loss/pointwise.h"
#include "worker/engine/model/pinn_mlp.h"

namespace epochd::engine {
namespace {

class BalancersTest : public ::testing::Test {
 protected:
  BalancersTest() {
    PdeResidual::Options pde{.expression = "u_t + u*u_x - nu*u_xx",
                             .constants = {{"nu", 0.01 / std::numbers::pi}},
                             .points = "pde",
                             .output = "pde_output",
                             .name = "pde"};
    losses_.push_back(std::make_shared<PdeResidual>(std::move(pde)));
    for (const std::string name : {"start", "ends"}) {
      MseLoss::Options options;
      options.name = name;
      options.fields = {.output = name + "_output", .target = name + "_target"};
      losses_.push_back(std::make_shared<MseLoss>(options));
    }
  }

  // As state_of() of record_balancers.py.
  void FillWeights(int64_t update) {
    const c10::NoGradGuard no_grad;
    int64_t stream = 100 * update;
    for (const NamedTensor& each : model_->Parameters()) {
      each.tensor.copy_(golden::Fill(each.tensor.sizes(), stream++) *
                        (1.0 + static_cast<double>(update)));
    }
  }

  Batch Forward() {
    Batch batch{{"pde", golden::Fill({8, 2}, 50) * 2},
                {"start", golden::Fill({8, 2}, 51) * 2},
                {"start_target", golden::Fill({8, 1}, 52)},
                {"ends", golden::Fill({8, 2}, 53) * 2},
                {"ends_target", golden::Fill({8, 1}, 54) * 4}};
    batch.Merge(model_->Forward(batch));
    return batch;
  }

  void Check(const std::string& name,
             const std::shared_ptr<LossBalancer>& balancer) {
    std::vector<at::Tensor> parameters;
    for (const NamedTensor& each : model_->Parameters()) {
      parameters.push_back(each.tensor);
    }
    balancer->Bind(parameters, nullptr);
    Criterion criterion(losses_);
    criterion.SetBalancer(balancer);
    const auto& weights = recorded_.at(name).at("weights");
    ASSERT_EQ(weights.size(), 4u);
    for (size_t update = 0; update < weights.size(); ++update) {
      FillWeights(static_cast<int64_t>(update));
      NamedLosses parts;
      const double total =
          criterion.ComputeAt(static_cast<int64_t>(update), Forward(), &parts)
              .item<double>();
      double wanted_total = 0;
      for (size_t i = 0; i < losses_.size(); ++i) {
        const auto wanted = weights[update][i].get<double>();
        EXPECT_NEAR(balancer->WeightOf(losses_[i]->name()), wanted,
                    2e-5 * wanted)
            << name << ", update " << update << ", " << losses_[i]->name();
        const auto loss = recorded_["losses"][update][i].get<double>();
        EXPECT_NEAR(parts[i].second.item<double>(), loss, 1e-5 * loss);
        wanted_total += wanted * loss;
      }
      EXPECT_NEAR(total, wanted_total, 1e-4 * wanted_total);
    }
  }

  const nlohmann::json recorded_ = golden::Read("balancers");
  const std::shared_ptr<Model> model_ =
      MakePinnMlp({.hidden = {6, 6},
                   .inputs = {"pde", "start", "ends"},
                   .differentiable = {"pde"}});
  std::vector<std::shared_ptr<Loss>> losses_;
};

TEST_F(BalancersTest, ResidualsArePhiJaxs) {
  FillWeights(1);
  golden::ExpectValues(losses_[0]->Residual(Forward()), recorded_["residual"],
                       1e-5);
}

TEST_F(BalancersTest, GradientNormsArePhiJaxs) {
  Check("gradient_norm",
        std::make_shared<GradientNormBalancer>(LossBalancer::Options{
            .every = 1, .start = 0, .initial_weights = {{"ends", 3.0}}}));
  Check("gradient_norm_fast",
        std::make_shared<GradientNormBalancer>(LossBalancer::Options{
            .every = 1, .start = 0, .momentum = 0.25, .eps = 0.01}));
}

TEST_F(BalancersTest, KernelTracesArePhiJaxs) {
  Check("ntk", std::make_shared<NtkBalancer>(
                   LossBalancer::Options{.every = 1,
                                         .start = 0,
                                         .eps = 1e-10,
                                         .initial_weights = {{"pde", 0.5}}},
                   5));
}

}  // namespace
}  // namespace epochd::engine
