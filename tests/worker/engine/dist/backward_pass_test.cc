// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/backward_pass.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <functional>
#include <string>
#include <vector>

namespace epochd::engine {
namespace {

using Leaves = std::vector<at::Tensor>;
using Graph = std::function<at::Tensor(const Leaves&)>;

Leaves MakeLeaves() {
  at::manual_seed(7);
  Leaves leaves = {at::randn({5, 3}),       at::randn({3, 4}),
                   at::randn({4}),          at::randn({2, 1, 6, 6}),
                   at::randn({3, 1, 3, 3}), at::randn({4, 4}, at::kDouble)};
  for (at::Tensor& leaf : leaves) leaf.set_requires_grad(true);
  return leaves;
}

// Gradients after two losses in a row, so that the second one adds to them.
Leaves GradientsBy(const Graph& graph,
                   const std::function<void(const at::Tensor&)>& backward) {
  const Leaves leaves = MakeLeaves();
  backward(graph(leaves));
  backward(graph(leaves));
  Leaves gradients;
  for (const at::Tensor& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

struct Case {
  std::string name;
  Graph graph;
};

class BackwardPassTest : public testing::TestWithParam<Case> {};

TEST_P(BackwardPassTest, GivesTheBitsOfTheEngine) {
  const Leaves expected = GradientsBy(
      GetParam().graph, [](const at::Tensor& loss) { loss.backward(); });
  BackwardPass pass;
  const Leaves found = GradientsBy(
      GetParam().graph, [&](const at::Tensor& loss) { pass.Run(loss); });
  int compared = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].defined(), found[i].defined()) << i;
    if (!expected[i].defined()) continue;
    ++compared;
    EXPECT_TRUE(at::equal(expected[i], found[i])) << i;
    EXPECT_EQ(expected[i].strides(), found[i].strides()) << i;
  }
  EXPECT_GT(compared, 0);
}

const std::vector<Case> kCases = {
    {"Leaf", [](const Leaves& x) { return x[0].sum(); }},
    {"Linear",
     [](const Leaves& x) {
       return at::linear(x[0], x[1].t(), x[2]).relu_().square().mean();
     }},
    {"UsedSeveralTimes",
     [](const Leaves& x) {
       const at::Tensor y = x[0].sin();
       return (y * y + y.exp() * x[0] + x[0] / 3).sum() + y.mean();
     }},
    {"Broadcast",
     [](const Leaves& x) {
       return ((x[0].mm(x[1]) + x[2]) * x[2].mean()).tanh().sum();
     }},
    {"SeveralOutputs",
     [](const Leaves& x) {
       const auto parts = x[0].unbind(1);
       const auto [values, places] = x[1].max(0);
       return (parts[0] * parts[2]).sum() + values.square().sum();
     }},
    {"Convolution",
     [](const Leaves& x) {
       const at::Tensor y = at::conv2d(x[3], x[4], {}, at::IntArrayRef{1, 1});
       return at::max_pool2d(y.relu(), {2, 2}).square().mean();
     }},
    {"InPlaceOnAView",
     [](const Leaves& x) {
       at::Tensor y = x[0] * 2;
       y.select(1, 0).mul_(x[0].select(1, 1));
       return y.square().sum();
     }},
    {"TwoTypes",
     [](const Leaves& x) {
       return (x[5].to(at::kFloat) * x[2] + x[2]).sum() +
              x[5].square().sum().to(at::kFloat);
     }},
    {"Double", [](const Leaves& x) { return x[5].mm(x[5]).trace(); }},
    {"PartsWithoutGradient",
     [](const Leaves& x) {
       return (x[0].detach() * x[0]).sum() + x[1].detach().sum();
     }},
    // A gradient of a gradient, as in R1GradientPenalty.
    {"Penalty",
     [](const Leaves& x) {
       const at::Tensor y = x[0].mm(x[1]).sigmoid().sum();
       const at::Tensor gradient =
           torch::autograd::grad({y}, {x[0]}, {}, true, true).front();
       return gradient.square().sum() + y;
     }},
    // As in physics-informed training.
    {"SecondDerivatives",
     [](const Leaves& x) {
       const at::Tensor points = at::linspace(-1, 1, 15, at::kFloat)
                                     .view({5, 3})
                                     .requires_grad_(true);
       const auto slope = [&](const at::Tensor& of) {
         return torch::autograd::grad({of.sum()}, {points}, {}, true, true)
             .front();
       };
       at::Tensor u = (points * x[0]).mm(x[1]).add(x[2]).tanh();
       u = u.mm(x[5].to(at::kFloat)).tanh().sum(1, true);
       const at::Tensor first = slope(u);
       const at::Tensor second = slope(first);
       return (first * u - 0.01 * second).square().mean() + u.square().mean();
     }},
    {"Sparse",
     [](const Leaves& x) {
       const at::Tensor places = at::tensor({0, 2, 2}, at::kLong);
       return at::embedding(x[0], places, -1, false, /*sparse=*/false)
                  .square()
                  .sum() +
              x[0].sum();
     }},
    {"Hook",
     [](const Leaves& x) {
       at::Tensor y = x[0].sin();
       y.register_hook([](const at::Tensor& gradient) { return gradient * 2; });
       return y.sum();
     }},
    {"RetainedGradient",
     [](const Leaves& x) {
       at::Tensor y = x[0].sin();
       y.retain_grad();
       return y.square().sum();
     }},
};

INSTANTIATE_TEST_SUITE_P(Graphs, BackwardPassTest, testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

TEST(BackwardPassStateTest, RunsHooksOfLeaves) {
  at::Tensor x = at::ones({2}).set_requires_grad(true);
  int calls = 0;
  x.register_hook([&](const at::Tensor& gradient) {
    ++calls;
    return gradient * 3;
  });
  BackwardPass pass;
  pass.Run(x.sum());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(at::equal(x.grad(), at::full({2}, 3.0)));
}

TEST(BackwardPassStateTest, LetsGoOfWhatTheGraphSaved) {
  at::Tensor x = at::ones({2}).set_requires_grad(true);
  const at::Tensor y = x.exp();
  const at::Tensor loss = (y * y).sum();
  BackwardPass pass;
  pass.Run(loss);
  EXPECT_THROW(pass.Run(loss), c10::Error);
}

TEST(BackwardPassStateTest, SaysWhatTheEngineSaysOfALossWithoutAGraph) {
  BackwardPass pass;
  EXPECT_THROW(pass.Run(at::ones({})), c10::Error);
  EXPECT_THROW(pass.Run(at::ones({2}).set_requires_grad(true) * 2), c10::Error);
}

TEST(BackwardPassStateTest, KeepsNoGradientOfALossThatIsALeaf) {
  at::Tensor x = at::ones({}).set_requires_grad(true);
  BackwardPass pass;
  pass.Run(x);
  x.mutable_grad().add_(5);
  x.mutable_grad().reset();
  pass.Run(x);
  EXPECT_EQ(x.grad().item<double>(), 1.0);
}

// Differentiates something of its own within a backward pass.
struct Nested : torch::autograd::Function<Nested> {
  static at::Tensor forward(torch::autograd::AutogradContext* context,
                            const at::Tensor& x) {
    context->save_for_backward({x});
    return x.square().sum();
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context,
      torch::autograd::variable_list gradients) {
    EXPECT_FALSE(c10::GradMode::is_enabled());
    const c10::AutoGradMode with_grad(true);
    const at::Tensor x =
        context->get_saved_variables()[0].detach().requires_grad_(true);
    x.square().sum().backward();
    return {x.grad() * gradients[0]};
  }
};

TEST(BackwardPassStateTest, MayBeUsedWithinItself) {
  at::Tensor x = at::arange(3, at::kFloat).set_requires_grad(true);
  BackwardPass pass;
  pass.Run(Nested::apply(x) * 2);
  EXPECT_TRUE(at::equal(x.grad(), at::arange(3, at::kFloat) * 4));
  EXPECT_TRUE(c10::GradMode::is_enabled());
}

TEST(BackwardPassStateTest, PassesOnWhatAFunctionThrows) {
  struct Failing : torch::autograd::Function<Failing> {
    static at::Tensor forward(torch::autograd::AutogradContext*,
                              const at::Tensor& x) {
      return x.sum();
    }
    static torch::autograd::variable_list backward(
        torch::autograd::AutogradContext*, torch::autograd::variable_list) {
      return {at::ones({7})};
    }
  };
  at::Tensor x = at::ones({2}).set_requires_grad(true);
  BackwardPass pass;
  try {
    pass.Run(Failing::apply(x));
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("invalid gradient"),
              std::string::npos)
        << error.what();
  }
  // And is whole after it.
  at::Tensor y = at::ones({2}).set_requires_grad(true);
  pass.Run(y.sum());
  EXPECT_TRUE(at::equal(y.grad(), at::ones({2})));
}

}  // namespace
}  // namespace epochd::engine
