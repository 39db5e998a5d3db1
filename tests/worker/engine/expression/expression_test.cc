// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "tests/expression/formulas.h"
#include "worker/engine/core/error.h"
#include "worker/engine/expression/evaluate.h"

namespace epochd::engine {
namespace {

TEST(ExpressionTest, HasTheValueOfTheSameFormulaInC) {
  for (const expression::Formula& each : expression::kFormulas) {
    const Expression expression = Expression::Parse(each.text);
    for (const auto& [x, y] : expression::kPoints) {
      std::vector<at::Tensor> tensors;
      for (const std::string& name : expression.variables()) {
        tensors.push_back(at::full({3}, name == "x" ? x : y, at::kDouble));
      }
      const double wanted = each.value(x, y);
      const at::Tensor tensor =
          Evaluate(expression, tensors, at::zeros({3}, at::kDouble));
      ASSERT_EQ(tensor.sizes(), at::IntArrayRef({3})) << each.text;
      EXPECT_NEAR(tensor[1].item<double>(), wanted, 1e-14) << each.text;
    }
  }
}

TEST(ExpressionTest, AConstantHasTheShapeThatIsWanted) {
  const Expression expression = Expression::Parse("2*pi");
  const at::Tensor tensor = Evaluate(expression, std::span<const at::Tensor>(),
                                     at::zeros({2, 3}, at::kDouble));
  EXPECT_EQ(tensor.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(tensor[1][2].item<double>(), 2 * std::numbers::pi);
}

TEST(ExpressionTest, KeepsTheGraph) {
  const at::Tensor x =
      at::linspace(0.1, 0.9, 5, at::kDouble).requires_grad_(true);
  const std::vector<at::Tensor> given{x};
  Evaluate(Expression::Parse("x^3 * 2"), given, x).sum().backward();
  EXPECT_TRUE(at::allclose(x.grad(), 6 * x.detach().square()));
}

TEST(Expression, NumbersBeyondATensorsTypeAreInfinite) {
  const at::Tensor x = at::full({2}, 0.5);
  const std::vector<at::Tensor> values = {x};
  const auto at_x = [&](const char* text) {
    return Evaluate(Expression::Parse(text), values, x)[1].item<double>();
  };
  EXPECT_EQ(at_x("where(x < 1e73, 1/(x + 1.5), 0)"), 0.5);
  EXPECT_EQ(at_x("max(x, -1e73)"), 0.5);
  EXPECT_EQ(at_x("x*1e73"), std::numeric_limits<double>::infinity());
  const std::vector<at::Tensor> doubles = {x.to(at::kDouble)};
  EXPECT_EQ(Evaluate(Expression::Parse("x*1e73"), doubles, doubles[0])[1]
                .item<double>(),
            0.5e73);
}

TEST(ExpressionTest, ATextThatIsNoneIsABadSpec) {
  try {
    ParseExpression("u + * u");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadSpec);
    EXPECT_NE(std::string(error.what()).find("character 5"), std::string::npos);
  }
}

}  // namespace
}  // namespace epochd::engine
