// SPDX-License-Identifier: Apache-2.0
#include "expression/expression.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "expression/derivative.h"
#include "tests/expression/formulas.h"

namespace epochd::expression {
namespace {

std::string MessageOf(const std::string& text) {
  try {
    Expression::Parse(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ExpressionTest, HasTheValueOfTheSameFormulaInC) {
  for (const Formula& each : kFormulas) {
    const Expression expression = Expression::Parse(each.text);
    for (const auto& [x, y] : kPoints) {
      std::vector<double> given;
      for (const std::string& name : expression.variables()) {
        given.push_back(name == "x" ? x : y);
      }
      const double wanted = each.value(x, y);
      EXPECT_NEAR(expression.Evaluate(given), wanted, 1e-14) << each.text;
    }
  }
}

TEST(ExpressionTest, NamesVariablesInTheOrderOfTheirUse) {
  const Expression expression =
      Expression::Parse("u_t + u*u_x - nu*u_xx + u_t", {{"nu", 0.25}});
  EXPECT_EQ(expression.variables(),
            (std::vector<std::string>{"u_t", "u", "u_x", "u_xx"}));
  const std::vector<double> values{1, 2, 3, 4};
  EXPECT_EQ(expression.Evaluate(values), 1 + 6 - 1 + 1.0);
}

TEST(ExpressionTest, ComputesConstants) {
  EXPECT_EQ(EvaluateConstant("0.01/pi"), 0.01 / kPi);
  EXPECT_EQ(EvaluateConstant("2*c", {{"c", 4}}), 8);
  EXPECT_THROW(EvaluateConstant("2*x"), std::invalid_argument);
}

TEST(ExpressionTest, SaysWhereItIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "character 1: ends too early"},
      {"u_t + u*", "character 9: ends too early"},
      {"u_t + * u", "character 7: unexpected \"*\""},
      {"sin(x", "character 6: \")\" is missing"},
      {"x)", "character 2: unexpected \")\""},
      {"2 x", "character 3: unexpected \"x\""},
      {"sine(x)", "character 1: no such function: sine; sin, cos"},
      {"sin(x, y)", "sin has 2 arguments; 1 are accepted"},
      {"where(x, y)", "where has 2 arguments; 3 are accepted"},
      {"sin()", "character 5: unexpected \")\""},
      {"1/0", "not finite"},
      {"1e999", "character 1: not a number"},
      {"x = 1", "character 3: unexpected \"=\""},
      {"x < = 1", "character 5: unexpected \"=\""},
      {"x; y", "character 2: unexpected \";\""},
      {".", "character 1: not a number"},
      {"x\xc3\xa9", "character that is not ASCII"},
  };
  for (const auto& [text, part] : cases) {
    const std::string message = MessageOf(text);
    EXPECT_NE(message.find(part), std::string::npos) << text << ": " << message;
  }
  EXPECT_NE(MessageOf(std::string("x\0y", 3)), "");
}

TEST(ExpressionTest, BoundsLengthAndDepth) {
  EXPECT_NE(MessageOf(std::string(4097, '1')).find("4097 bytes"),
            std::string::npos);
  EXPECT_NE(MessageOf(std::string(2000, '(')).find("deeper"),
            std::string::npos);
  EXPECT_NE(MessageOf(std::string(2000, '-')).find("deeper"),
            std::string::npos);
  std::string powers = "x";
  for (int i = 0; i < 1000; ++i) powers += "^x";
  EXPECT_NE(MessageOf(powers).find("deeper"), std::string::npos);
  std::string calls;
  for (int i = 0; i < 500; ++i) calls += "sin(";
  EXPECT_NE(MessageOf(calls).find("deeper"), std::string::npos);
  // Long is no problem where it is not deep.
  std::string sum = "x";
  for (int i = 0; i < 1000; ++i) sum += "+x";
  EXPECT_EQ(Expression::Parse(sum).Evaluate(std::vector<double>{1.0}), 1001);
  EXPECT_EQ(Expression::Parse(std::string(50, '(') + "x" + std::string(50, ')'))
                .Evaluate(std::vector<double>{2.0}),
            2);
}

// Whatever bytes come, the parser ends, and what it takes can be computed.
TEST(ExpressionTest, TakesOrRefusesAnyText) {
  const std::string alphabet = "xyu_t0123.e+-*/^()<>=, sincoexpwhrmaq\n\xff";
  std::mt19937_64 random(2026);
  int num_parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (uint64_t i = random() % 24; i-- > 0;) {
      text += alphabet[random() % alphabet.size()];
    }
    try {
      const Expression expression = Expression::Parse(text);
      const std::vector<double> values(expression.variables().size(), 0.5);
      expression.Evaluate(values);
      ++num_parsed;
    } catch (const std::invalid_argument&) {
      // Refused, as it may be.
    }
  }
  EXPECT_GT(num_parsed, 200);
}

TEST(DerivativeTest, ReadsUnknownsAndTheirDerivatives) {
  const std::vector<std::string> unknowns = {"u", "v"};
  const std::vector<std::string> coordinates = {"t", "x"};
  const auto at = [&](const char* text) {
    return ReadDerivative(text, unknowns, coordinates);
  };
  EXPECT_EQ(at("v")->unknown, 1u);
  EXPECT_TRUE(at("v")->by.empty());
  EXPECT_EQ(at("u_xt")->by, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(at("u_xxxx")->by.size(), kMaxDerivativeOrder);
  for (const char* text : {"w", "u_", "u_y", "u_xxxxx", "x", "w_x"}) {
    EXPECT_FALSE(at(text).has_value()) << text;
  }
  EXPECT_EQ(ReadDerivative("u_radiusangle", {"u"}, {"angle", "radius"})->by,
            (std::vector<size_t>{0, 1}));
}

TEST(DerivativeTest, SaysWhichNamesThereAre) {
  EXPECT_EQ(UnknownVariableText("w", {"u"}, {"t", "x"}),
            "\"w\" is not known; the unknowns (u), the coordinates (t, x), "
            "derivatives such as u_xx up to order 4, and parameters are "
            "accepted");
  EXPECT_EQ(UnknownVariableText("w", {}, {"x"}),
            "\"w\" is not known; the coordinates (x), and parameters are "
            "accepted");
}

}  // namespace
}  // namespace epochd::expression
