// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "expression/expression.h"

namespace epochd::expression {
namespace {

using Op = Expression::Op;

double SignOf(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

double ApplyOne(Op op, double x) {
  switch (op) {
    case Op::kNegate:
      return -x;
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kTan:
      return std::tan(x);
    case Op::kAsin:
      return std::asin(x);
    case Op::kAcos:
      return std::acos(x);
    case Op::kAtan:
      return std::atan(x);
    case Op::kSinh:
      return std::sinh(x);
    case Op::kCosh:
      return std::cosh(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kExp:
      return std::exp(x);
    case Op::kLog:
      return std::log(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kAbs:
      return std::abs(x);
    default:
      return SignOf(x);
  }
}

double ApplyTwo(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      return a / b;
    case Op::kPower:
      return std::pow(a, b);
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kLess:
      return a < b ? 1.0 : 0.0;
    case Op::kLessEqual:
      return a <= b ? 1.0 : 0.0;
    case Op::kGreater:
      return a > b ? 1.0 : 0.0;
    default:
      return a >= b ? 1.0 : 0.0;
  }
}

}  // namespace

double Expression::Evaluate(std::span<const double> values) const {
  if (values.size() != variables_.size()) {
    throw std::invalid_argument(
        "expression \"" + text_ + "\": " + std::to_string(values.size()) +
        " values for " + std::to_string(variables_.size()) + " variables");
  }
  std::vector<double> stack;
  stack.reserve(steps_.size());
  const auto pop = [&stack] {
    const double top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    switch (NumOperands(step.op)) {
      case 0:
        stack.push_back(step.op == Op::kConstant ? step.constant
                                                 : values[step.variable]);
        break;
      case 1:
        stack.back() = ApplyOne(step.op, stack.back());
        break;
      case 2: {
        const double b = pop();
        stack.back() = ApplyTwo(step.op, stack.back(), b);
        break;
      }
      default: {
        const double otherwise = pop();
        const double then = pop();
        stack.back() = stack.back() != 0.0 ? then : otherwise;
      }
    }
  }
  return stack.back();
}

}  // namespace epochd::expression
