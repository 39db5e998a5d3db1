// SPDX-License-Identifier: Apache-2.0
//
// Expression: arithmetic that a job file writes as text, such as
// "u_t + u*u_x - nu*u_xx" or "-sin(pi*x)". Over numbers here; over tensors with
// their graphs in worker/engine/expression. Immutable once parsed; any thread.
// Depends on the standard library only.
//
//   comparison  sum [(< | <= | > | >=) sum]      1 or 0
//   sum         term {(+ | -) term}
//   term        sign {(* | /) sign}
//   sign        (+ | -) sign | power
//   power       atom [(^ | **) sign]             from the right
//   atom        number | name | name(comparison, ...) | (comparison)
//
// Functions: sin cos tan asin acos atan sinh cosh tanh exp log sqrt abs sign;
// min(a, b), max(a, b), pow(a, b), where(condition, a, b). `pi` is a constant.
// Parts without variables are computed once, while parsing. A text is at most
// 4096 bytes and 64 levels deep.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace epochd::expression {

class Expression {
 public:
  using Constants = std::map<std::string, double>;

  // Names of `constants` stand for their values; all others become variables.
  // Throws std::invalid_argument with the text, the character and what is
  // accepted.
  static Expression Parse(std::string_view text,
                          const Constants& constants = {});

  // In the order of their first use.
  const std::vector<std::string>& variables() const { return variables_; }
  const std::string& text() const { return text_; }

  // `values`: of variables(), in their order. Throws std::invalid_argument if
  // they are not as many.
  double Evaluate(std::span<const double> values) const;

  enum class Op : uint8_t {
    kConstant,
    kVariable,
    kNegate,
    kSin,
    kCos,
    kTan,
    kAsin,
    kAcos,
    kAtan,
    kSinh,
    kCosh,
    kTanh,
    kExp,
    kLog,
    kSqrt,
    kAbs,
    kSign,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kPower,
    kMin,
    kMax,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kWhere,
  };
  // Of the postfix form.
  struct Step {
    Op op = Op::kConstant;
    double constant = 0.0;
    size_t variable = 0;
  };
  // How many values an operation takes from the stack.
  static int NumOperands(Op op);
  const std::vector<Step>& steps() const { return steps_; }

 private:
  friend class ExpressionParser;

  std::string text_;
  std::vector<std::string> variables_;
  std::vector<Step> steps_;
};

// The value of a constant expression, such as "0.01/pi". Throws
// std::invalid_argument, also for a variable.
double EvaluateConstant(std::string_view text,
                        const Expression::Constants& constants = {});

}  // namespace epochd::expression
