// SPDX-License-Identifier: Apache-2.0
//
// Losses as job files name them give the values and gradients that
// record_losses.py recorded, in double and, less exactly, in float.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/golden/described_field.h"
#include "tests/golden/golden.h"

namespace epochd::engine {
namespace {

void CheckSums(const at::Tensor& gradient, const nlohmann::json& recorded,
               double tolerance) {
  const double squares = recorded.at("squares");
  EXPECT_NEAR(gradient.square().sum().item<double>(), squares,
              tolerance * squares);
  EXPECT_NEAR(
      gradient.sum().item<double>(), recorded.at("sum").get<double>(),
      tolerance * std::sqrt(squares * static_cast<double>(gradient.numel())));
}

void CheckCase(const nlohmann::json& recorded, at::ScalarType type,
               double tolerance) {
  const std::shared_ptr<Loss> loss = golden::BuildLoss(recorded.at("job"));
  Batch batch = golden::DescribedBatch(recorded.at("fields"));
  Batch given;
  for (const auto& [name, tensor] : batch) {
    const bool floats = tensor.is_floating_point();
    at::Tensor leaf = floats ? tensor.to(type) : tensor;
    if (recorded.at("gradients").contains(name)) leaf.requires_grad_();
    given.Set(name, leaf);
  }
  const at::Tensor value = loss->Compute(given);
  EXPECT_EQ(value.dim(), 0);
  const double expected = recorded.at("value");
  EXPECT_NEAR(value.item<double>(), expected,
              tolerance * std::max(1.0, std::abs(expected)));
  value.backward();
  for (const auto& [name, gradient] : recorded.at("gradients").items()) {
    SCOPED_TRACE(name);
    const at::Tensor& own = given.At(name).grad();
    if (gradient.is_null()) {
      EXPECT_FALSE(own.defined());
    } else if (gradient.is_object()) {
      CheckSums(own.to(torch::kDouble), gradient, 10 * tolerance);
    } else {
      ASSERT_TRUE(own.defined());
      golden::ExpectValues(own, gradient, tolerance);
    }
  }
}

TEST(LossCasesTest, ValuesAndGradientsArePythons) {
  const nlohmann::json recorded = golden::Read("loss_cases");
  EXPECT_GT(recorded.size(), 70U);
  for (const auto& [name, each] : recorded.items()) {
    SCOPED_TRACE(name);
    CheckCase(each, torch::kDouble, 1e-7);
    CheckCase(each, torch::kFloat, 1e-4);
  }
}

}  // namespace
}  // namespace epochd::engine
