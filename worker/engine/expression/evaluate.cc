// SPDX-License-Identifier: Apache-2.0
//
// What the operations of an expression do to tensors. A value among them is a
// number as long as no variable is in it.
#include "worker/engine/expression/evaluate.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

using Op = Expression::Op;

struct Value {
  double number = 0.0;
  at::Tensor tensor{};  // undefined: it is the number

  bool is_number() const { return !tensor.defined(); }
};

at::Tensor ApplyOne(Op op, const at::Tensor& x) {
  switch (op) {
    case Op::kNegate:
      return at::neg(x);
    case Op::kSin:
      return at::sin(x);
    case Op::kCos:
      return at::cos(x);
    case Op::kTan:
      return at::tan(x);
    case Op::kAsin:
      return at::asin(x);
    case Op::kAcos:
      return at::acos(x);
    case Op::kAtan:
      return at::atan(x);
    case Op::kSinh:
      return at::sinh(x);
    case Op::kCosh:
      return at::cosh(x);
    case Op::kTanh:
      return at::tanh(x);
    case Op::kExp:
      return at::exp(x);
    case Op::kLog:
      return at::log(x);
    case Op::kSqrt:
      return at::sqrt(x);
    case Op::kAbs:
      return at::abs(x);
    default:
      return at::sign(x);
  }
}

// ATen refuses numbers beyond the range of a tensor's type: they are infinite.
double InRangeOf(const at::Tensor& like, double number) {
  if (like.scalar_type() == at::kDouble) return number;
  const double most = like.scalar_type() == at::kHalf
                          ? 65504.0
                          : double{std::numeric_limits<float>::max()};
  if (!(std::abs(number) > most)) return number;
  return std::copysign(std::numeric_limits<double>::infinity(), number);
}

// A number where a tensor is needed.
at::Tensor AsTensor(const Value& value, const at::Tensor& like) {
  if (!value.is_number()) return value.tensor;
  return at::full({}, value.number, like.options());
}

at::Tensor ApplyTensors(Op op, const at::Tensor& a, const at::Tensor& b) {
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
      return at::pow(a, b);
    case Op::kMin:
      return at::minimum(a, b);
    case Op::kMax:
      return at::maximum(a, b);
    case Op::kLess:
      return at::lt(a, b).to(a.scalar_type());
    case Op::kLessEqual:
      return at::le(a, b).to(a.scalar_type());
    case Op::kGreater:
      return at::gt(a, b).to(a.scalar_type());
    default:
      return at::ge(a, b).to(a.scalar_type());
  }
}

at::Tensor ApplyTwo(Op op, const Value& a, const Value& b,
                    const at::Tensor& like) {
  // Kernels that take a number save a tensor and, for powers, are much faster.
  if (b.is_number()) {
    switch (op) {
      case Op::kAdd:
        return b.number == 0.0 ? a.tensor : a.tensor + b.number;
      case Op::kSubtract:
        return b.number == 0.0 ? a.tensor : a.tensor - b.number;
      case Op::kMultiply:
        return a.tensor * b.number;
      case Op::kDivide:
        return a.tensor / b.number;
      case Op::kPower:
        return at::pow(a.tensor, b.number);
      default:
        break;
    }
  }
  if (a.is_number()) {
    switch (op) {
      case Op::kAdd:
        return a.number == 0.0 ? b.tensor : b.tensor + a.number;
      case Op::kSubtract:
        return at::rsub(b.tensor, a.number);
      case Op::kMultiply:
        return b.tensor * a.number;
      default:
        break;
    }
  }
  return ApplyTensors(op, AsTensor(a, like), AsTensor(b, like));
}

void CheckCount(const Expression& expression, size_t given) {
  if (given == expression.variables().size()) return;
  throw Error(ErrorKind::kTraining,
              "expression \"" + expression.text() +
                  "\": " + std::to_string(given) + " values for " +
                  std::to_string(expression.variables().size()) + " variables");
}

}  // namespace

Expression ParseExpression(std::string_view text,
                           const Expression::Constants& constants) {
  try {
    return Expression::Parse(text, constants);
  } catch (const std::invalid_argument& error) {
    throw Error(ErrorKind::kBadSpec, error.what());
  }
}

at::Tensor Evaluate(const Expression& expression,
                    std::span<const at::Tensor> values,
                    const at::Tensor& like) {
  CheckCount(expression, values.size());
  std::vector<Value> stack;
  stack.reserve(expression.steps().size());
  const auto pop = [&stack] {
    Value top = std::move(stack.back());
    stack.pop_back();
    return top;
  };
  for (const Expression::Step& step : expression.steps()) {
    switch (Expression::NumOperands(step.op)) {
      case 0:
        stack.push_back(step.op == Op::kConstant
                            ? Value{InRangeOf(like, step.constant)}
                            : Value{0.0, values[step.variable]});
        break;
      case 1:
        // Constants were folded, so the operand is a tensor.
        stack.back().tensor = ApplyOne(step.op, stack.back().tensor);
        break;
      case 2: {
        const Value b = pop();
        Value& a = stack.back();
        a.tensor = ApplyTwo(step.op, a, b, like);
        break;
      }
      default: {
        const Value otherwise = pop();
        const Value then = pop();
        Value& condition = stack.back();
        condition.tensor =
            at::where(AsTensor(condition, like) != 0, AsTensor(then, like),
                      AsTensor(otherwise, like));
      }
    }
  }
  const at::Tensor result = AsTensor(stack.back(), like);
  return result.sizes() == like.sizes() ? result : result.expand(like.sizes());
}

}  // namespace epochd::engine
