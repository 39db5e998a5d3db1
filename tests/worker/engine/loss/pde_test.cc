// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of functions that are known, and residuals of equations at their
// exact solutions.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/random.h"
#include "worker/engine/loop/precision.h"
#include "worker/engine/loss/builtin_pde.h"
#include "worker/engine/loss/derivatives.h"
#include "worker/engine/loss/pde_residual.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {
namespace {

constexpr double kPi = std::numbers::pi;

// Points of [0, 1)^axes in double, wanting a gradient.
at::Tensor Points(int64_t count, int64_t axes) {
  Random random({7});
  at::Tensor points = at::empty({count, axes}, at::kDouble);
  double* values = points.mutable_data_ptr<double>();
  for (int64_t i = 0; i < points.numel(); ++i) values[i] = random.Uniform();
  return points.requires_grad_(true);
}

at::Tensor Column(const at::Tensor& points, int64_t i) {
  return points.select(-1, i);
}

TEST(DerivativesTest, AreThoseOfKnownFunctions) {
  const at::Tensor points = Points(9, 2);
  const at::Tensor x = Column(points, 0);
  const at::Tensor y = Column(points, 1);
  const at::Tensor f = x.pow(3) * at::sin(y);
  const at::Tensor first = Gradient(f, points);
  EXPECT_TRUE(at::allclose(
      first,
      at::stack({3 * x.square() * at::sin(y), x.pow(3) * at::cos(y)}, 1)));
  EXPECT_TRUE(
      at::allclose(HessianDiagonal(f, points),
                   at::stack({6 * x * at::sin(y), -x.pow(3) * at::sin(y)}, 1)));
  EXPECT_TRUE(
      at::allclose(Laplacian(f, points), (6 * x - x.pow(3)) * at::sin(y)));
  // Mixed, and a third one.
  EXPECT_TRUE(at::allclose(Gradient(Column(first, 0), points).select(1, 1),
                           3 * x.square() * at::cos(y)));
  const at::Tensor second = HessianDiagonal(f, points).select(1, 0);
  EXPECT_TRUE(
      at::allclose(Gradient(second, points).select(1, 0), 6 * at::sin(y)));

  const at::Tensor field = at::stack({x * y, y.square() * x, x}, 1);
  const at::Tensor jacobian = Jacobian(field, points);
  EXPECT_EQ(jacobian.sizes(), at::IntArrayRef({9, 3, 2}));
  EXPECT_TRUE(at::allclose(jacobian.select(1, 1),
                           at::stack({y.square(), 2 * x * y}, 1)));
  EXPECT_TRUE(
      at::allclose(Divergence(field.slice(1, 0, 2), points), y + 2 * x * y));
}

TEST(DerivativesTest, HaveAnyNumberOfLeadingDimensions) {
  const at::Tensor flat = Points(12, 2);
  const at::Tensor points = flat.detach().view({3, 4, 2}).requires_grad_(true);
  const at::Tensor wanted = Laplacian(flat.pow(4).prod(-1), flat);
  EXPECT_TRUE(Laplacian(points.pow(4).prod(-1), points)
                  .flatten()
                  .equal(wanted.flatten()));
}

TEST(DerivativesTest, AreZeroWhereNothingDepends) {
  const at::Tensor points = Points(5, 2);
  const at::Tensor linear = Column(points, 0) * 3;
  EXPECT_TRUE(HessianDiagonal(linear, points).equal(at::zeros_like(points)));
  EXPECT_TRUE(Gradient(at::ones({5}, at::kDouble), points)
                  .equal(at::zeros_like(points)));
  const at::Tensor other = Points(5, 1);
  EXPECT_TRUE(
      Gradient(other.select(1, 0), points).equal(at::zeros_like(points)));
}

TEST(DerivativesTest, WorkWhereGradientsAreOff) {
  const at::Tensor points = Points(5, 2);
  const at::Tensor f = Column(points, 0).pow(4);
  const at::Tensor wanted = 12 * Column(points, 0).detach().square();
  const c10::NoGradGuard no_grad;
  EXPECT_TRUE(at::allclose(Laplacian(f, points), wanted));
}

TEST(DerivativesTest, RefuseOtherShapes) {
  const at::Tensor points = Points(5, 2);
  EXPECT_THROW(Gradient(points, points), Error);
  EXPECT_THROW(Gradient(points.sum(), points), Error);
  EXPECT_THROW(Divergence(points.slice(1, 0, 1), points), Error);
}

std::shared_ptr<Loss> Build(const catalogue::Json& json) {
  static const Registry registry = [] {
    Registry filled;
    filled.Add(BuiltinPdeLosses());
    filled.Freeze();
    return filled;
  }();
  const catalogue::Json experiment = catalogue::Json::object();
  BuildScope scope(registry, experiment, "experiment");
  return scope.MakeAs<Loss>(json, "experiment.loss[0]");
}

std::string MessageOf(const catalogue::Json& json) {
  return BadSpecOf([&] { Build(json); });
}

Batch At(const at::Tensor& points, const at::Tensor& u) {
  return {{"interior", points}, {"interior_output", u.unsqueeze(-1)}};
}

double LossOf(const catalogue::Json& json, const at::Tensor& points,
              const at::Tensor& u) {
  return Build(json)->Compute(At(points, u)).item<double>();
}

struct Solution {
  catalogue::Json loss;
  at::Tensor u;
};

TEST(PdeResidualTest, EquationsHoldAtTheirSolutions) {
  const at::Tensor line = Points(20, 2);
  const at::Tensor t = Column(line, 0);
  const at::Tensor x = Column(line, 1);
  const at::Tensor space = Points(20, 3);
  const at::Tensor r = Column(space, 0);
  const at::Tensor p = Column(space, 1);
  const at::Tensor q = Column(space, 2);
  using J = catalogue::Json;
  const J plane = {"t", "x", "y"};
  const std::tuple<J, at::Tensor, at::Tensor> cases[] = {
      // A shock front that moves at speed 1/2.
      {J{{"type", "BurgersResidual"}, {"viscosity", "1/4"}}, line,
       0.5 - 0.5 * at::tanh((x - 0.5 * t) / (4 * 0.25))},
      {J{{"type", "BurgersResidual"}, {"viscosity", 0}}, line, x / (1 + t)},
      {J{{"type", "HeatResidual"}, {"diffusivity", 0.1}}, line,
       at::exp(-0.1 * kPi * kPi * t) * at::sin(kPi * x)},
      {J{{"type", "HeatResidual"}, {"coordinates", plane}, {"diffusivity", 2}},
       space, at::exp(-4 * r) * at::sin(p) * at::cos(q)},
      {J{{"type", "DiffusionResidual"},
         {"source", "x - 6*t"},
         {"diffusivity", 3}},
       line, t * x + t.square() * -3},
      {J{{"type", "PoissonResidual"},
         {"source", "-2*k^2*sin(k*x)*sin(k*y)"},
         {"parameters", {{"k", "2*pi"}}}},
       line, at::sin(2 * kPi * t) * at::sin(2 * kPi * x)},
      {J{{"type", "AdvectionResidual"}, {"velocity", 0.7}}, line,
       at::sin(x - 0.7 * t)},
      {J{{"type", "AdvectionResidual"},
         {"coordinates", plane},
         {"velocity", {"-y", "x"}}},
       space, p.square() + q.square()},
      {J{{"type", "WaveResidual"}, {"speed", 3}}, line,
       at::sin(x - 3 * t) + (x + 3 * t).pow(3)},
      {J{{"type", "WaveResidual"}, {"coordinates", plane}, {"speed", 2}}, space,
       at::cos(10 * r) * at::sin(3 * p) * at::sin(4 * q)},
      {J{{"type", "PdeResidual"},
         {"expression", "u_tt + 2*u_tx + u_xx - u_ttxx"}},
       line, at::sin(t - x) * 0 + t - x},
  };
  for (const auto& [json, points, u] : cases) {
    EXPECT_LT(LossOf(json, points, u), 1e-22) << json;
    // And nowhere near it at another function.
    EXPECT_GT(LossOf(json, points,
                     u + 0.1 * Column(points, 0).pow(4) +
                         0.3 * Column(points, 1).pow(4)),
              1e-3)
        << json;
  }
}

TEST(PdeResidualTest, SeveralUnknownsAndLongNames) {
  const at::Tensor points = Points(10, 2);
  const at::Tensor x = Column(points, 0);
  const at::Tensor y = Column(points, 1);
  const Batch batch{{"input", points},
                    {"output", at::stack({x * y, y.square(), x}, 1)}};
  const auto loss = Build({{"type", "PdeResidual"},
                           {"expression", "v_x1 - 2*x2*w_x1 + w_x1x2"},
                           {"unknowns", {"w", "p", "v"}},
                           {"coordinates", {"x1", "x2"}},
                           {"points", "input"}});
  // v_x = 1, w_x = y, w_xy = 1.
  EXPECT_TRUE(
      at::allclose(loss->Residual(batch).squeeze(1), 2 - 2 * y.square()));
}

TEST(PdeResidualTest, WeightsMaskAndCausality) {
  const at::Tensor points = Points(64, 2);
  const at::Tensor t = Column(points, 0).detach();
  Batch batch = At(points, Column(points, 1) * (1 + Column(points, 0)));
  // u = x (1 + t): u_x = 1 + t.
  const at::Tensor squares = (1 + t).square();
  catalogue::Json json = {{"type", "PdeResidual"}, {"expression", "u_x"}};
  const auto value = [&batch](const catalogue::Json& of) {
    return Build(of)->Compute(batch).item<double>();
  };
  EXPECT_NEAR(value(json), squares.mean().item<double>(), 1e-12);

  batch.Set("w", t.unsqueeze(1));
  json["sample_weight"] = "w";
  EXPECT_NEAR(value(json), ((squares * t).sum() / t.sum()).item<double>(),
              1e-12);

  json.erase("sample_weight");
  batch.Set("m", t > 0.5);
  json["mask"] = "m";
  EXPECT_NEAR(value(json), squares.index({t > 0.5}).mean().item<double>(),
              1e-12);

  json.erase("mask");
  json["causal_epsilon"] = 0.4;
  json["causal_slices"] = 4;
  double before = 0;
  double sum = 0;
  for (int slice = 0; slice < 4; ++slice) {
    const at::Tensor own = squares.index(
        {at::logical_and(t >= slice / 4.0, t < (slice + 1) / 4.0)});
    sum += std::exp(-0.4 * before) * own.sum().item<double>();
    before += own.mean().item<double>();
  }
  EXPECT_NEAR(value(json), sum / 64, 1e-12);

  json["sample_weight"] = "interior";
  EXPECT_THROW(value(json), Error);
}

// Points that do not count neither hold up later times nor have a residual.
TEST(PdeResidualTest, CausalityAndResidualsKnowMaskAndWeights) {
  const auto of = [](const std::vector<double>& times,
                     const std::vector<double>& slopes) {
    const at::Tensor t = at::tensor(times, at::kDouble);
    const at::Tensor points =
        at::stack({t, at::zeros_like(t)}, 1).requires_grad_(true);
    return At(points, Column(points, 1) * at::tensor(slopes, at::kDouble));
  };
  catalogue::Json json = {{"type", "PdeResidual"},
                          {"expression", "u_x"},
                          {"causal_epsilon", 0.4},
                          {"causal_slices", 2}};
  const auto value = [&json](const Batch& batch) {
    return Build(json)->Compute(batch).item<double>();
  };
  const double whole = value(of({0.1, 0.2, 0.7}, {1, 2, 3}));

  json["mask"] = "m";
  Batch masked = of({0.1, 0.3, 0.2, NAN, 0.7}, {1, 50, 2, NAN, 3});
  masked.Set("m", at::tensor({1, 0, 1, 0, 1}, at::kDouble));
  EXPECT_DOUBLE_EQ(value(masked), whole);
  EXPECT_EQ(Build(json)->NumItems(masked), 3);
  const at::Tensor residual = Build(json)->Residual(masked).flatten();
  EXPECT_TRUE(residual.equal(at::tensor({1, 0, 2, 0, 3}, at::kDouble)))
      << residual;

  json.erase("mask");
  json["sample_weight"] = "w";
  Batch weighed = of({0.1, 0.2, 0.7}, {1, 2, 3});
  weighed.Set("w", at::tensor({3.0, 1.0, 0.5}, at::kDouble));
  const double first = (3.0 * 1 + 1.0 * 4) / (3.0 + 1.0);
  EXPECT_NEAR(value(weighed),
              (3.0 * 1 + 1.0 * 4 + 0.5 * 9 * std::exp(-0.4 * first)) / 4.5,
              1e-12);
}

TEST(PdeResidualTest, KeepsNoGraphWhereGradientsAreOff) {
  const at::Tensor points = Points(8, 2);
  const Batch batch = At(points, Column(points, 1).pow(3));
  const auto loss = Build({{"type", "PdeResidual"}, {"expression", "u_xx"}});
  EXPECT_TRUE(loss->Compute(batch).requires_grad());
  const c10::NoGradGuard no_grad;
  const at::Tensor value = loss->Compute(batch);
  EXPECT_FALSE(value.requires_grad());
  EXPECT_NEAR(value.item<double>(),
              (6 * Column(points, 1)).square().mean().item<double>(), 1e-12);
}

TEST(PdeResidualTest, IsOutOfAutocast) {
  const at::Tensor points = Points(8, 2);
  // A product of matrices, which autocast would do in half precision.
  const at::Tensor weight = at::ones({2, 1}, at::kDouble).requires_grad_(true);
  const at::Tensor u = at::matmul(points.pow(3), weight).squeeze(1);
  const auto loss = Build({{"type", "PdeResidual"}, {"expression", "u_x"}});
  const double exact = loss->Compute(At(points, u)).item<double>();
  const AutocastGuard autocast(Precision::kBFloat16, c10::kCPU);
  EXPECT_EQ(loss->Compute(At(points, u)).item<double>(), exact);
}

TEST(PdeResidualTest, RefusalsSayWhatIsAccepted) {
  const auto with = [](const std::string& key, const catalogue::Json& value) {
    catalogue::Json json = {{"type", "PdeResidual"}, {"expression", "u_t"}};
    json[key] = value;
    return MessageOf(json);
  };
  const std::pair<std::string, const char*> cases[] = {
      {with("expression", "u_t + "),
       "experiment.loss[0].expression: expression \"u_t + \""},
      {with("expression", "u_t + v"),
       "\"v\" is not known; the unknowns (u), the coordinates (t, x), "
       "derivatives such as u_xx up to order 4"},
      {with("expression", "u_z"), "\"u_z\" is not known"},
      {with("expression", "u_"), "\"u_\" is not known"},
      {with("expression", "u_xxxxx"), "\"u_xxxxx\" is not known"},
      {with("parameters", {{"nu", "1/x"}}),
       ".parameters.nu: expression \"1/x\""},
      {with("causal_range", {1, 2, 3}),
       ".causal_range: expected 2 values, got 3"},
      {MessageOf({{"type", "HeatResidual"}, {"coordinates", {"t"}}}),
       ".coordinates: expected at least 2 values, got 1"},
      {MessageOf({{"type", "AdvectionResidual"}, {"velocity", {1, 2}}}),
       ".velocity: expected 1 value, one less than coordinates has, got 2"},
      {MessageOf({{"type", "PoissonResidual"}, {"source", "1) + (u"}}),
       ".source: expression"},
      {MessageOf({{"type", "PdeResidual"},
                  {"expression", "u_x"},
                  {"causal_epsilon", 1},
                  {"causal_coordinate", "z"}}),
       "causal: \"z\""},
  };
  for (const auto& [message, part] : cases) {
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
  }
}

TEST(PdeResidualTest, NamesFieldsThatDoNotFit) {
  const auto loss = Build({{"type", "PdeResidual"}, {"expression", "u_x"}});
  const auto message = [&loss](const Batch& batch) -> std::string {
    try {
      loss->Compute(batch);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const at::Tensor points = Points(4, 2);
  EXPECT_NE(message(At(points.detach(), Column(points.detach(), 0)))
                .find("`differentiable` must name \"interior\""),
            std::string::npos);
  EXPECT_NE(message(At(Points(4, 3), Column(points, 0)))
                .find("points [..., 2] and values [..., 1] are accepted"),
            std::string::npos);
  EXPECT_NE(message({{"interior", points}}).find("\"interior_output\""),
            std::string::npos);
}

}  // namespace
}  // namespace epochd::engine
