// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/filter.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <string>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

using Complex = std::complex<double>;

constexpr int64_t kMaxRatioPart = 10000;

// Poles of the analog prototype: on the unit circle, left of the axis.
std::vector<Complex> PrototypePoles(int order) {
  std::vector<Complex> poles;
  for (int m = -order + 1; m < order; m += 2) {
    poles.push_back(
        -std::exp(Complex(0, std::numbers::pi * m / (2.0 * order))));
  }
  return poles;
}

// Pairs conjugates, and real poles with each other, into sections with the
// zeros `z1`, `z2`; a pole that is left over gets a section of first order.
std::vector<FilterSection> Sections(const std::vector<Complex>& poles,
                                    double z1, double z2) {
  std::vector<FilterSection> sections;
  std::vector<double> real;
  for (const Complex& pole : poles) {
    if (std::abs(pole.imag()) < 1e-12) {
      real.push_back(pole.real());
    } else if (pole.imag() > 0) {
      sections.push_back(
          {1, -(z1 + z2), z1 * z2, -2 * pole.real(), std::norm(pole)});
    }
  }
  for (size_t i = 0; i + 1 < real.size(); i += 2) {
    sections.push_back({1, -(z1 + z2), z1 * z2, -(real[i] + real[i + 1]),
                        real[i] * real[i + 1]});
  }
  if (real.size() % 2 == 1) sections.push_back({1, -z1, 0, -real.back(), 0});
  return sections;
}

// Runs one section (direct form II transposed) over `x`, from the state that
// a constant input of `level` would have left.
void RunSection(const FilterSection& s, double level, std::vector<double>& x) {
  const double gain = (s[0] + s[1] + s[2]) / (1 + s[3] + s[4]);
  double state1 = level * (s[2] - s[4] * gain);
  double state0 = level * (s[1] - s[3] * gain) + state1;
  for (double& value : x) {
    const double out = s[0] * value + state0;
    state0 = s[1] * value - s[3] * out + state1;
    state1 = s[2] * value - s[4] * out;
    value = out;
  }
}

// All sections, as if the signal had always stood at its first value.
void RunSections(const std::vector<FilterSection>& sections,
                 std::vector<double>& x) {
  double level = x.front();
  for (const FilterSection& section : sections) {
    RunSection(section, level, x);
    level *=
        (section[0] + section[1] + section[2]) / (1 + section[3] + section[4]);
  }
}

// Modified Bessel function of order 0, by its series.
double Bessel0(double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

// Low-pass of 2 * half + 1 taps that cuts at 1 / rate of the Nyquist frequency
// and lets a constant by with `gain`.
std::vector<double> LowPass(int64_t half, int64_t rate, double gain) {
  constexpr double kBeta = 5.0;
  std::vector<double> taps(2 * half + 1);
  double sum = 0;
  for (int64_t i = -half; i <= half; ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(rate);
    const double sinc =
        i == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
    const double place = static_cast<double>(i) / static_cast<double>(half);
    const double tap =
        sinc * Bessel0(kBeta * std::sqrt(1 - place * place)) / Bessel0(kBeta);
    taps[i + half] = tap;
    sum += tap;
  }
  for (double& tap : taps) tap *= gain / sum;
  return taps;
}

// Calls `change(row)` for each row along the last dimension, in double.
template <class F>
at::Tensor MapRows(const at::Tensor& signal, int64_t out_size, F change) {
  at::Tensor in = signal.to(at::kDouble).contiguous();
  std::vector<int64_t> shape = in.sizes().vec();
  const int64_t size = shape.back();
  shape.back() = out_size;
  at::Tensor out = at::empty(shape, at::kDouble);
  const double* from = in.const_data_ptr<double>();
  double* to = out.mutable_data_ptr<double>();
  const int64_t rows = size == 0 ? 0 : in.numel() / size;
  for (int64_t row = 0; row < rows; ++row) {
    change(from + row * size, to + row * out_size);
  }
  return out.to(signal.is_floating_point() ? signal.scalar_type() : at::kFloat);
}

}  // namespace

std::vector<FilterSection> Butterworth(int order, double low, double high,
                                       double fs) {
  const bool is_low_pass = low == 0;
  const bool is_high_pass = high == 0;
  const double nyquist = fs / 2;
  if (order < 1 || order > 20 || !(low >= 0) || !(high >= 0) ||
      (is_low_pass && is_high_pass) || !(low < nyquist) || !(high < nyquist) ||
      (!is_high_pass && !(low < high))) {
    throw Error(ErrorKind::kBadSpec,
                "Butterworth filter: order " + std::to_string(order) +
                    ", low " + std::to_string(low) + ", high " +
                    std::to_string(high) + " at " + std::to_string(fs) +
                    " samples a second; order 1 to 20 and 0 <= low < high < " +
                    std::to_string(nyquist) + " are needed");
  }
  // Cut-off frequencies bent so that the bilinear transform unbends them, at a
  // rate of 2.
  const auto bend = [&](double hz) {
    return 4 * std::tan(std::numbers::pi * hz / fs);
  };
  const std::vector<Complex> prototype = PrototypePoles(order);
  std::vector<Complex> poles;
  Complex gain = 1;
  if (is_low_pass) {
    for (const Complex& pole : prototype) poles.push_back(pole * bend(high));
    gain = std::pow(bend(high), order);
  } else if (is_high_pass) {
    for (const Complex& pole : prototype) poles.push_back(bend(low) / pole);
  } else {
    const double width = bend(high) - bend(low);
    const double centre = bend(high) * bend(low);
    for (const Complex& pole : prototype) {
      const Complex half = pole * (width / 2);
      const Complex root = std::sqrt(half * half - centre);
      poles.push_back(half + root);
      poles.push_back(half - root);
    }
    gain = std::pow(width, order);
  }
  // To the z plane; zeros at infinity go to -1, those at 0 to 1, each of which
  // adds a factor of 4.
  if (!is_low_pass) gain *= std::pow(4.0, order);
  for (Complex& pole : poles) {
    gain /= 4.0 - pole;
    pole = (4.0 + pole) / (4.0 - pole);
  }
  std::vector<FilterSection> sections = is_low_pass    ? Sections(poles, -1, -1)
                                        : is_high_pass ? Sections(poles, 1, 1)
                                                       : Sections(poles, 1, -1);
  for (int i = 0; i < 3; ++i) sections.front()[i] *= gain.real();
  return sections;
}

at::Tensor FilterForwardBackward(const std::vector<FilterSection>& sections,
                                 const at::Tensor& signal) {
  if (signal.dim() == 0 || signal.numel() == 0) return signal;
  int64_t short_b = 0;
  int64_t short_a = 0;
  for (const FilterSection& section : sections) {
    short_b += section[2] == 0;
    short_a += section[4] == 0;
  }
  const int64_t extension = 3 * (2 * static_cast<int64_t>(sections.size()) + 1 -
                                 std::min(short_b, short_a));
  const int64_t size = signal.size(-1);
  if (size <= extension) {
    throw Error(ErrorKind::kBadSpec,
                "band-pass: the signal has " + std::to_string(size) +
                    " samples; more than " + std::to_string(extension) +
                    " are needed");
  }
  return MapRows(signal, size, [&](const double* from, double* to) {
    std::vector<double> x(size + 2 * extension);
    for (int64_t i = 0; i < extension; ++i) {
      x[i] = 2 * from[0] - from[extension - i];
      x[extension + size + i] = 2 * from[size - 1] - from[size - 2 - i];
    }
    std::copy(from, from + size, x.begin() + extension);
    RunSections(sections, x);
    std::reverse(x.begin(), x.end());
    RunSections(sections, x);
    std::copy(x.rbegin() + extension, x.rbegin() + extension + size, to);
  });
}

at::Tensor ResamplePoly(const at::Tensor& signal, int64_t up, int64_t down,
                        ResampleEdge edge) {
  if (up < 1 || down < 1 || up > kMaxRatioPart || down > kMaxRatioPart) {
    throw Error(ErrorKind::kBadSpec,
                "resampling by " + std::to_string(up) + "/" +
                    std::to_string(down) + ": 1 to " +
                    std::to_string(kMaxRatioPart) + " are accepted");
  }
  const int64_t common = std::gcd(up, down);
  up /= common;
  down /= common;
  if ((up == 1 && down == 1) || signal.dim() == 0 || signal.size(-1) == 0) {
    return signal;
  }
  const int64_t rate = std::max(up, down);
  const int64_t half = 10 * rate;
  const std::vector<double> taps = LowPass(half, rate, static_cast<double>(up));
  const int64_t size = signal.size(-1);
  const int64_t out_size = (size * up + down - 1) / down;
  // taps[half + m * down - k * up] weighs input k in output m.
  return MapRows(signal, out_size, [&](const double* from, double* to) {
    for (int64_t m = 0; m < out_size; ++m) {
      const int64_t centre = m * down;
      const auto floor_div = [](int64_t a, int64_t b) {
        return a >= 0 ? a / b : -((-a + b - 1) / b);
      };
      const int64_t first = -floor_div(half - centre, up);
      const int64_t last = floor_div(centre + half, up);
      double sum = 0;
      for (int64_t k = first; k <= last; ++k) {
        const double tap = taps[half + centre - k * up];
        if (k >= 0 && k < size) {
          sum += tap * from[k];
        } else if (edge == ResampleEdge::kRepeat) {
          sum += tap * from[k < 0 ? 0 : size - 1];
        }
      }
      to[m] = sum;
    }
  });
}

Ratio ResampleRatio(double from, double to) {
  // Continued fractions of to / from.
  const double wanted = to / from;
  int64_t up = 1, down = 0, up_before = 0, down_before = 1;
  double rest = wanted;
  while (wanted > 0 && std::isfinite(rest)) {
    const double whole = std::floor(rest);
    if (whole > kMaxRatioPart) break;
    const auto step = static_cast<int64_t>(whole);
    const int64_t next_up = step * up + up_before;
    const int64_t next_down = step * down + down_before;
    if (next_up > kMaxRatioPart || next_down > kMaxRatioPart) break;
    up_before = up;
    down_before = down;
    up = next_up;
    down = next_down;
    const double found = static_cast<double>(up) / static_cast<double>(down);
    if (up > 0 && std::abs(found - wanted) <= 1e-6 * wanted) return {up, down};
    rest = 1 / (rest - whole);
  }
  throw Error(ErrorKind::kBadSpec, "resampling from " + std::to_string(from) +
                                       " to " + std::to_string(to) +
                                       " samples a second: no ratio of whole "
                                       "numbers up to " +
                                       std::to_string(kMaxRatioPart) +
                                       " is that");
}

}  // namespace epochd::engine
