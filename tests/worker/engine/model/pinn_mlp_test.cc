// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/pinn_mlp.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "worker/engine/core/error.h"
#include "worker/engine/loss/derivatives.h"

namespace epochd::engine {
namespace {

std::vector<std::string> Names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& each : tensors) names.push_back(each.name);
  return names;
}

at::Tensor Find(const std::vector<NamedTensor>& tensors,
                const std::string& name) {
  for (const NamedTensor& each : tensors) {
    if (each.name == name) return each.tensor;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(PinnMlpTest, NamesAreThoseOfASequential) {
  PinnMlpOptions options{.hidden = {4, 5}};
  EXPECT_EQ(
      Names(MakePinnMlp(options)->Parameters()),
      (std::vector<std::string>{"net.0.weight", "net.0.bias", "net.2.weight",
                                "net.2.bias", "net.4.weight", "net.4.bias"}));
  options = {.hidden = {4},
             .lower = {0, 0},
             .upper = {1, 1},
             .fourier_features = 3,
             .factorized = true};
  const auto model = MakePinnMlp(options);
  EXPECT_EQ(Names(model->Parameters()),
            (std::vector<std::string>{"net.0.weight_g", "net.0.weight_v",
                                      "net.0.bias", "net.2.weight_g",
                                      "net.2.weight_v", "net.2.bias"}));
  EXPECT_EQ(
      Names(model->Buffers()),
      (std::vector<std::string>{"input_shift", "input_scale", "fourier"}));
  EXPECT_EQ(Find(model->Parameters(), "net.0.weight_v").sizes(),
            at::IntArrayRef({4, 6}));
  options.fourier_trainable = true;
  EXPECT_EQ(Names(MakePinnMlp(options)->Parameters()).front(), "fourier");
}

TEST(PinnMlpTest, EvaluatesTheFieldsThatAreThere) {
  const auto model = MakePinnMlp({.hidden = {8},
                                  .inputs = {"input", "interior", "initial"},
                                  .differentiable = {"interior"}});
  const at::Tensor points = at::rand({6, 2});
  const Batch returned =
      model->Forward({{"interior", points}, {"initial", points}});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : returned) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"interior", "interior_output",
                                             "initial_output"}));
  EXPECT_TRUE(returned.At("interior").requires_grad());
  EXPECT_TRUE(returned.At("interior").is_leaf());
  EXPECT_FALSE(points.requires_grad());
  EXPECT_TRUE(
      returned.At("interior_output").equal(returned.At("initial_output")));
  EXPECT_EQ(
      model->Forward({{"input", at::rand({2, 3, 2})}}).At("output").sizes(),
      at::IntArrayRef({2, 3, 1}));
  EXPECT_THROW(model->Forward({{"other", points}}), Error);
}

TEST(PinnMlpTest, FieldsThatGoTogetherHaveTheirOwnShapesAndValues) {
  const auto model = MakePinnMlp(
      {.hidden = {8}, .out_features = 3, .inputs = {"initial", "boundary"}});
  const at::Tensor initial = at::rand({6, 2});
  const at::Tensor boundary = at::rand({6, 4, 2});
  const Batch returned =
      model->Forward({{"boundary", boundary}, {"initial", initial}});
  const at::Tensor& own = returned.At("boundary_output");
  EXPECT_EQ(own.sizes(), at::IntArrayRef({6, 4, 3}));
  EXPECT_TRUE(at::allclose(
      own, model->Forward({{"boundary", boundary}}).At("boundary_output")));
  EXPECT_TRUE(at::allclose(
      returned.At("initial_output"),
      model->Forward({{"initial", initial}}).At("initial_output")));
  try {
    model->Forward({{"initial", at::rand({6, 3})}});
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("[6, 3]; [..., 2] is accepted"),
              std::string::npos)
        << error.what();
  }
}

TEST(PinnMlpTest, KeepsTheGraphOfItsPointsInValidation) {
  const auto model = MakePinnMlp({.hidden = {8},
                                  .inputs = {"input", "interior"},
                                  .differentiable = {"interior"}});
  const at::Tensor points = at::rand({6, 2});
  const auto laplacian = [&] {
    const Batch returned =
        model->Forward({{"interior", points}, {"input", points}});
    if (!c10::GradMode::is_enabled()) {
      EXPECT_FALSE(returned.At("output").requires_grad());
    }
    const c10::AutoGradMode with_graph(true);
    return Laplacian(returned.At("interior_output").select(-1, 0),
                     returned.At("interior"));
  };
  const at::Tensor wanted = laplacian();
  const c10::NoGradGuard no_grad;
  EXPECT_TRUE(laplacian().equal(wanted));
}

TEST(PinnMlpTest, ScalesRangesToOne) {
  const auto model =
      MakePinnMlp({.in_features = 2, .lower = {0, -2}, .upper = {4, 6}});
  const c10::NoGradGuard no_grad;
  Find(model->Parameters(), "net.0.weight").copy_(at::tensor({1.f, 10.f}));
  const at::Tensor points =
      at::tensor({0.f, -2.f, 4.f, 6.f, 2.f, 2.f, 3.f, 0.f}).view({4, 2});
  EXPECT_TRUE(model->Forward({{"input", points}})
                  .At("output")
                  .flatten()
                  .equal(at::tensor({-11.f, 11.f, 0.f, -4.5f})));
}

TEST(PinnMlpTest, RepeatsItselfWithItsPeriods) {
  const auto model =
      MakePinnMlp({.hidden = {8, 8}, .activation = "sin", .periods = {0, 2}});
  const at::Tensor left = at::tensor({0.25f, -1.f}).view({1, 2});
  const at::Tensor right = at::tensor({0.25f, 1.f}).view({1, 2});
  const auto u = [&](const at::Tensor& points) {
    return model->Forward({{"input", points}}).At("output").item<float>();
  };
  EXPECT_NEAR(u(left), u(right), 1e-6);
  EXPECT_GT(std::abs(u(left) - u(at::zeros({1, 2}))), 1e-4);
}

TEST(PinnMlpTest, FrequenciesHaveASeedOfTheirOwn) {
  const auto frequencies = [](uint64_t seed, double scale) {
    at::rand({3});  // moves the default generator
    return Find(MakePinnMlp({.hidden = {4},
                             .fourier_features = 500,
                             .fourier_scale = scale,
                             .fourier_seed = seed})
                    ->Buffers(),
                "fourier");
  };
  EXPECT_TRUE(frequencies(1, 5).equal(frequencies(1, 5)));
  EXPECT_FALSE(frequencies(1, 5).equal(frequencies(2, 5)));
  EXPECT_NEAR(frequencies(1, 5).std().item<double>(), 5, 0.5);
}

TEST(PinnMlpTest, BeginsAsItsInitializationSays) {
  const auto weight = [](const PinnMlpOptions& options) {
    return MakePinnMlp(options)->Parameters();
  };
  const auto normal = weight({.in_features = 300, .hidden = {100}});
  EXPECT_NEAR(normal[0].tensor.std().item<double>(), std::sqrt(2.0 / 400),
              0.003);
  EXPECT_EQ(normal[1].tensor.abs().max().item<double>(), 0);
  const auto uniform = weight(
      {.in_features = 300, .hidden = {100}, .init = PinnInit::kXavierUniform});
  EXPECT_NEAR(uniform[0].tensor.abs().max().item<double>(),
              std::sqrt(6.0 / 400), 1e-4);
  const auto torchs =
      weight({.in_features = 300, .hidden = {100}, .init = PinnInit::kTorch});
  EXPECT_NEAR(torchs[0].tensor.abs().max().item<double>(), std::sqrt(1.0 / 300),
              1e-4);
  EXPECT_GT(torchs[1].tensor.abs().max().item<double>(), 0.03);
  // A factorised layer begins with such weights, in leaves of their own.
  const auto factors =
      weight({.in_features = 300, .hidden = {100}, .factorized = true});
  for (const NamedTensor& each : factors) EXPECT_TRUE(each.tensor.is_leaf());
  EXPECT_NEAR(factors[0].tensor.log().mean().item<double>(), 0.5, 0.05);
  EXPECT_NEAR(
      (factors[0].tensor.unsqueeze(1) * factors[1].tensor).std().item<double>(),
      std::sqrt(2.0 / 400), 0.003);
}

TEST(PinnMlpTest, RefusalsNameTheOption) {
  const auto message = [](const PinnMlpOptions& options) -> std::string {
    try {
      MakePinnMlp(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::pair<PinnMlpOptions, const char*> cases[] = {
      {{.activation = "tan"}, "activation: unknown \"tan\"; tanh, sin"},
      {{.inputs = {}}, "inputs: one or more"},
      {{.differentiable = {"interior"}}, "differentiable: \"interior\""},
      {{.lower = {0}, .upper = {1}}, "lower: 1 numbers for 2 coordinates"},
      {{.lower = {0, 0}}, "lower: goes with upper only"},
      {{.lower = {0, 1}, .upper = {1, 1}}, "lower: 1.000000 is not below"},
      {{.periods = {1}}, "periods: 1 numbers"},
  };
  for (const auto& [options, part] : cases) {
    EXPECT_NE(message(options).find(part), std::string::npos)
        << part << "\n"
        << message(options);
  }
}

}  // namespace
}  // namespace epochd::engine
