// SPDX-License-Identifier: Apache-2.0
//
// Formulas as job files write them and as C++ does, for tests of numbers and of
// tensors; and values of x and y at which to compare.
#pragma once

#include <cmath>
#include <numbers>

namespace epochd::expression {

struct Formula {
  const char* text;
  double (*value)(double x, double y);
};

inline constexpr double kPi = std::numbers::pi;

inline constexpr Formula kFormulas[] = {
    {"x", [](double x, double) { return x; }},
    {"-sin(pi*x)", [](double x, double) { return -std::sin(kPi * x); }},
    {"1 - 2 - 3*x", [](double x, double) { return 1 - 2 - 3 * x; }},
    {"x/2/4", [](double x, double) { return x / 2 / 4; }},
    {"-x^2", [](double x, double) { return -(x * x); }},
    {"2^-x", [](double x, double) { return std::pow(2, -x); }},
    {"x**2**3", [](double x, double) { return std::pow(x, 8); }},
    {"(x + y)*(x - y)", [](double x, double y) { return x * x - y * y; }},
    {"--x + +y", [](double x, double y) { return x + y; }},
    {"1e-3*x + .5", [](double x, double) { return 1e-3 * x + 0.5; }},
    {"min(x, y) + 10*max(x, y)",
     [](double x, double y) { return std::fmin(x, y) + 10 * std::fmax(x, y); }},
    {"where(x < y, 3, x*y)",
     [](double x, double y) { return x < y ? 3 : x * y; }},
    {"(x <= y) + 2*(x >= y) + 4*(x > y)",
     [](double x, double y) {
       return (x <= y ? 1.0 : 0.0) + (x >= y ? 2 : 0) + (x > y ? 4 : 0);
     }},
    {"exp(log(x)) + sqrt(x) + abs(-x) + sign(-x)",
     [](double x, double) { return x + std::sqrt(x) + x - 1; }},
    {"tan(x)+sinh(x)+cosh(x)+tanh(x)+cos(x)+asin(x/9)+acos(x/9)+atan(y)",
     [](double x, double y) {
       return std::tan(x) + std::sinh(x) + std::cosh(x) + std::tanh(x) +
              std::cos(x) + std::asin(x / 9) + std::acos(x / 9) + std::atan(y);
     }},
    {"pow(x, y) - x - 5",
     [](double x, double y) { return std::pow(x, y) - x - 5; }},
    {"3 - x", [](double x, double) { return 3 - x; }},
    {"3 / x", [](double x, double) { return 3 / x; }},
};

inline constexpr double kPoints[][2] = {{0.5, 1.5}, {1.25, 0.25}, {0.75, 0.75}};

}  // namespace epochd::expression
