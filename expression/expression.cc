// SPDX-License-Identifier: Apache-2.0
#include "expression/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace epochd::expression {
namespace {

using Op = Expression::Op;

constexpr size_t kMaxBytes = 4096;
constexpr int kMaxDepth = 64;

struct Function {
  std::string_view name;
  Op op;
};

constexpr Function kFunctions[] = {
    {"sin", Op::kSin},   {"cos", Op::kCos},   {"tan", Op::kTan},
    {"asin", Op::kAsin}, {"acos", Op::kAcos}, {"atan", Op::kAtan},
    {"sinh", Op::kSinh}, {"cosh", Op::kCosh}, {"tanh", Op::kTanh},
    {"exp", Op::kExp},   {"log", Op::kLog},   {"sqrt", Op::kSqrt},
    {"abs", Op::kAbs},   {"sign", Op::kSign}, {"min", Op::kMin},
    {"max", Op::kMax},   {"pow", Op::kPower}, {"where", Op::kWhere},
};

bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A character for a message, which must be UTF-8.
std::string Shown(char c) {
  if (c < ' ' || c > '~') return "character that is not ASCII";
  return std::string("\"") + c + "\"";
}

std::string FunctionNames() {
  std::string names;
  for (const Function& function : kFunctions) {
    names +=
        std::string(names.empty() ? "" : ", ") + std::string(function.name);
  }
  return names;
}

}  // namespace

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text,
                   const Expression::Constants& constants)
      : text_(text), constants_(constants) {
    made_.text_ = std::string(text);
  }

  Expression Parse() {
    if (text_.size() > kMaxBytes) {
      throw std::invalid_argument(
          "expression: " + std::to_string(text_.size()) + " bytes; at most " +
          std::to_string(kMaxBytes) + " are accepted");
    }
    ParseComparison(0);
    if (Peek(); at_ < text_.size()) {
      Fail("unexpected " + Shown(Peek()) +
           "; an operator or the end is accepted");
    }
    return std::move(made_);
  }

 private:
  [[noreturn]] void Fail(const std::string& problem) const {
    throw std::invalid_argument("expression \"" + made_.text_ +
                                "\": character " + std::to_string(at_ + 1) +
                                ": " + problem);
  }

  // The next character that is no space; 0 at the end.
  char Peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' ||
                                  text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char wanted) {
    if (Peek() != wanted || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  void Push(Op op, double constant = 0.0, size_t variable = 0) {
    made_.steps_.push_back({op, constant, variable});
    Fold();
  }

  // Replaces an operation on constants by its value.
  void Fold() {
    std::vector<Expression::Step>& steps = made_.steps_;
    const auto count =
        static_cast<size_t>(Expression::NumOperands(steps.back().op));
    if (count == 0) return;
    const size_t first = steps.size() - 1 - count;
    for (size_t i = first; i + 1 < steps.size(); ++i) {
      if (steps[i].op != Op::kConstant) return;
    }
    Expression part;
    part.steps_.assign(steps.begin() + static_cast<ptrdiff_t>(first),
                       steps.end());
    const double value = part.Evaluate(std::span<const double>());
    if (!std::isfinite(value)) {
      Fail("the part before it is not finite; finite numbers are accepted");
    }
    steps.resize(first);
    steps.push_back({Op::kConstant, value, 0});
  }

  void Deepen(int depth) const {
    if (depth > kMaxDepth) {
      Fail("nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
  }

  void ParseComparison(int depth) {
    Deepen(depth);
    ParseSum(depth);
    const bool is_less = Take('<');
    if (!is_less && !Take('>')) return;
    // "<=" is one sign, without a space in it.
    const bool or_equal = at_ < text_.size() && text_[at_] == '=';
    if (or_equal) ++at_;
    ParseSum(depth);
    if (is_less) {
      Push(or_equal ? Op::kLessEqual : Op::kLess);
    } else {
      Push(or_equal ? Op::kGreaterEqual : Op::kGreater);
    }
  }

  void ParseSum(int depth) {
    ParseTerm(depth);
    while (true) {
      if (Take('+')) {
        ParseTerm(depth);
        Push(Op::kAdd);
      } else if (Take('-')) {
        ParseTerm(depth);
        Push(Op::kSubtract);
      } else {
        return;
      }
    }
  }

  void ParseTerm(int depth) {
    ParseSign(depth);
    while (true) {
      if (Take('*')) {
        ParseSign(depth);
        Push(Op::kMultiply);
      } else if (Take('/')) {
        ParseSign(depth);
        Push(Op::kDivide);
      } else {
        return;
      }
    }
  }

  void ParseSign(int depth) {
    Deepen(depth);
    if (Take('-')) {
      ParseSign(depth + 1);
      Push(Op::kNegate);
    } else if (Take('+')) {
      ParseSign(depth + 1);
    } else {
      ParsePower(depth);
    }
  }

  bool TakePower() {
    if (Take('^')) return true;
    if (Peek() != '*' || text_.substr(at_, 2) != "**") return false;
    at_ += 2;
    return true;
  }

  void ParsePower(int depth) {
    ParseAtom(depth);
    if (!TakePower()) return;
    ParseSign(depth + 1);
    Push(Op::kPower);
  }

  void ParseAtom(int depth) {
    const char next = Peek();
    if (IsDigit(next) || next == '.') return ParseNumber();
    if (IsNameStart(next)) return ParseName(depth);
    if (Take('(')) {
      ParseComparison(depth + 1);
      if (!Take(')')) Fail("\")\" is missing");
      return;
    }
    Fail(
        (at_ >= text_.size() ? "ends too early" : "unexpected " + Shown(next)) +
        "; a number, a name, a function or \"(\" is accepted");
  }

  void ParseNumber() {
    double value = 0.0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] =
        std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) {
      Fail("not a number; numbers such as 0.5 or 1e-3 are accepted");
    }
    at_ += static_cast<size_t>(end - begin);
    Push(Op::kConstant, value);
  }

  void ParseName(int depth) {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (IsNameStart(text_[at_]) || IsDigit(text_[at_]))) {
      ++at_;
    }
    const std::string name(text_.substr(begin, at_ - begin));
    if (Take('(')) return ParseCall(name, begin, depth);
    const auto constant = constants_.find(name);
    if (constant != constants_.end()) {
      return Push(Op::kConstant, constant->second);
    }
    if (name == "pi") return Push(Op::kConstant, std::numbers::pi);
    std::vector<std::string>& variables = made_.variables_;
    const auto known = std::find(variables.begin(), variables.end(), name);
    const auto index = static_cast<size_t>(known - variables.begin());
    if (known == variables.end()) variables.push_back(name);
    Push(Op::kVariable, 0.0, index);
  }

  void ParseCall(const std::string& name, size_t begin, int depth) {
    const auto* const function =
        std::find_if(std::begin(kFunctions), std::end(kFunctions),
                     [&](const Function& each) { return each.name == name; });
    if (function == std::end(kFunctions)) {
      at_ = begin;
      Fail("no such function: " + name + "; " + FunctionNames() +
           " are accepted");
    }
    int num_arguments = 0;
    do {
      ParseComparison(depth + 1);
      ++num_arguments;
    } while (Take(','));
    if (!Take(')')) Fail("\")\" is missing");
    const int wanted = Expression::NumOperands(function->op);
    if (num_arguments != wanted) {
      Fail(name + " has " + std::to_string(num_arguments) + " arguments; " +
           std::to_string(wanted) + " are accepted");
    }
    Push(function->op);
  }

  const std::string_view text_;
  const Expression::Constants& constants_;
  Expression made_;
  size_t at_ = 0;
};

Expression Expression::Parse(std::string_view text,
                             const Constants& constants) {
  return ExpressionParser(text, constants).Parse();
}

int Expression::NumOperands(Op op) {
  if (op <= Op::kVariable) return 0;
  if (op <= Op::kSign) return 1;
  return op == Op::kWhere ? 3 : 2;
}

double EvaluateConstant(std::string_view text,
                        const Expression::Constants& constants) {
  const Expression expression = Expression::Parse(text, constants);
  if (!expression.variables().empty()) {
    throw std::invalid_argument("expression \"" + expression.text() + "\": \"" +
                                expression.variables().front() +
                                "\" is not known; numbers and pi are accepted");
  }
  return expression.Evaluate(std::span<const double>());
}

}  // namespace epochd::expression
