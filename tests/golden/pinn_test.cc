// SPDX-License-Identifier: Apache-2.0
//
// Models over coordinates, their derivatives, residuals of equations and Sobol
// points are Python's.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/golden/golden.h"
#include "worker/engine/data/points/unit_cube.h"
#include "worker/engine/loss/derivatives.h"
#include "worker/engine/loss/pde_residual.h"
#include "worker/engine/model/pinn_mlp.h"

namespace epochd::engine {
namespace {

PinnMlpOptions Options(const std::string& name) {
  PinnMlpOptions options{.hidden = {8, 8},
                         .activation = name == "all" ? "tanh" : name,
                         .differentiable = {"input"}};
  const bool all = name == "all";
  if (all) {
    options.in_features = 3;
    options.hidden = {8, 6};
    options.out_features = 2;
    options.periods = {0, 2, 0};
    options.fourier_trainable = true;
  }
  if (name == "gelu") {
    options.hidden = {6};
    options.periods = {0, 2.5};
  }
  if (name == "sin" || all) {
    options.lower.assign(static_cast<size_t>(options.in_features), -2);
    options.upper.assign(static_cast<size_t>(options.in_features), 3);
  }
  if (name == "silu" || all) options.fourier_features = all ? 4 : 5;
  options.factorized = name == "sigmoid" || all;
  return options;
}

std::shared_ptr<Model> MakeFilled(const std::string& name) {
  auto model = MakePinnMlp(Options(name));
  golden::FillModel(*model);
  return model;
}

void ToDouble(Model& model) {
  for (const auto& list : {model.Parameters(), model.Buffers()}) {
    for (const NamedTensor& each : list) {
      each.tensor.set_data(each.tensor.detach().to(at::kDouble));
    }
  }
}

at::Tensor PointsOf(const std::string& name, int64_t count, int64_t stream) {
  return golden::Fill({count, name == "all" ? 3 : 2}, stream) * 2;
}

void ExpectGradients(const Model& model, const nlohmann::json& recorded,
                     double tolerance) {
  const std::vector<NamedTensor> parameters = model.Parameters();
  ASSERT_EQ(parameters.size(), recorded.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    SCOPED_TRACE(parameters[i].name);
    const at::Tensor& gradient = parameters[i].tensor.grad();
    if (recorded[i].is_null()) {
      // Not reached: nothing, or nothing but zeros.
      EXPECT_TRUE(!gradient.defined() || !gradient.any().item<bool>());
    } else {
      ASSERT_TRUE(gradient.defined());
      golden::ExpectValues(gradient, recorded[i], tolerance);
    }
  }
}

TEST(PinnTest, ModelsAndTheirDerivativesArePythons) {
  const nlohmann::json recorded = golden::Read("pinn")["models"];
  for (const char* name : {"tanh", "sin", "gelu", "silu", "sigmoid", "all"}) {
    SCOPED_TRACE(name);
    const nlohmann::json& wanted = recorded[name];
    const auto model = MakeFilled(name);
    const at::Tensor points = PointsOf(name, 6, 40);
    golden::ExpectValues(model->Forward({{"input", points}}).At("output"),
                         wanted["output"], 1e-5);

    ToDouble(*model);
    const Batch batch = model->Forward({{"input", points.to(at::kDouble)}});
    const at::Tensor& x = batch.At("input");
    const at::Tensor& y = batch.At("output");
    golden::ExpectValues(Jacobian(y, x), wanted["jacobian"], 1e-12);
    const at::Tensor u = y.select(1, 0);
    EXPECT_TRUE(Gradient(u, x).equal(Jacobian(y, x).select(1, 0)));
    golden::ExpectValues(HessianDiagonal(u, x), wanted["hessian_diagonal"],
                         1e-11);
    const at::Tensor laplacian = Laplacian(u, x);
    golden::ExpectValues(laplacian, wanted["laplacian"], 1e-11);
    laplacian.square().mean().backward();
    ExpectGradients(*model, wanted["laplacian_by_weights"], 1e-10);
  }
}

TEST(PinnTest, ResidualsArePythons) {
  const nlohmann::json recorded = golden::Read("pinn")["residuals"];
  const std::pair<const char*, const char*> equations[] = {
      {"burgers", "u_a + u*u_b - nu*u_bb"},
      {"heat", "u_a - 0.3*u_bb - sin(pi*b)*a"},
      {"poisson", "u_aa + u_bb - exp(-b^2)"},
      {"advection", "u_a + (1 + b)*u_b"},
      {"wave", "u_aa - c^2*u_bb"},
      {"mixed", "u_ba*u + u_bbb - u_abb"},
  };
  for (const auto& [name, expression] : equations) {
    SCOPED_TRACE(name);
    const auto model = MakeFilled("tanh");
    ToDouble(*model);
    PdeResidual::Options options{
        .expression = expression,
        .constants = {{"nu", 0.01 / std::numbers::pi}, {"c", 2.0}},
        .points = "input",
        .output = "output",
        .coordinates = {"a", "b"}};
    const PdeResidual loss(options);
    const Batch batch =
        model->Forward({{"input", PointsOf("tanh", 12, 41).to(at::kDouble)}});
    golden::ExpectValues(loss.Residual(batch), recorded[name]["residual"],
                         1e-11);
    const at::Tensor value = loss.Compute(batch);
    const auto wanted = recorded[name]["loss"].get<double>();
    EXPECT_NEAR(value.item<double>(), wanted, 1e-11 * wanted);
    value.backward();
    ExpectGradients(*model, recorded[name]["gradients"], 1e-10);
  }
}

TEST(PinnTest, EquationsByNameArePythons) {
  const nlohmann::json recorded = golden::Read("pinn")["named"];
  EXPECT_EQ(recorded.size(), 6U);
  for (const nlohmann::json& each : recorded) {
    SCOPED_TRACE(each["job"].dump());
    const auto model = MakeFilled("tanh");
    ToDouble(*model);
    const Batch batch =
        model->Forward({{"input", PointsOf("tanh", 12, 41).to(at::kDouble)}});
    const at::Tensor value = golden::BuildLoss(each["job"])->Compute(batch);
    const auto wanted = each["loss"].get<double>();
    EXPECT_NEAR(value.item<double>(), wanted, 1e-11 * wanted);
    value.backward();
    ExpectGradients(*model, each["gradients"], 1e-10);
  }
}

TEST(PinnTest, SobolPointsAreTorchs) {
  const nlohmann::json recorded = golden::Read("pinn")["sobol"];
  const auto directions = SobolDirections(5);
  for (size_t i = 0; i < recorded.size(); ++i) {
    for (size_t axis = 0; axis < 5; ++axis) {
      EXPECT_EQ(SobolBits(directions[axis], static_cast<int64_t>(i)),
                recorded[i][axis].get<uint32_t>())
          << i << ", " << axis;
    }
  }
}

}  // namespace
}  // namespace epochd::engine
