// SPDX-License-Identifier: Apache-2.0
//
// Filters and resampling of signals, in double precision along the last
// dimension; the same values as scipy.signal's functions of those names. Pure
// functions; any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

namespace epochd::engine {

// One second-order section: b0, b1, b2, a1, a2 with a0 = 1.
using FilterSection = std::array<double, 5>;

// A digital Butterworth filter by the bilinear transform (scipy's butter).
// `low` and `high` in Hz; low = 0: low-pass, high = 0: high-pass. Throws
// Error(kBadSpec) unless 0 <= low < high < fs / 2 and 1 <= order <= 20.
std::vector<FilterSection> Butterworth(int order, double low, double high,
                                       double fs);

// Filters forward and backward, so that nothing is delayed, with the odd
// extension at both ends (scipy's sosfiltfilt). Floating type kept. Throws
// Error(kBadSpec) for signals that are not longer than the extension.
at::Tensor FilterForwardBackward(const std::vector<FilterSection>& sections,
                                 const at::Tensor& signal);

// What stands beyond the ends of a signal while it is resampled.
enum class ResampleEdge { kZero, kRepeat };

// Resamples by up / down with a polyphase FIR filter: a windowed sinc of
// 20 * max(up, down) + 1 taps under a Kaiser window, beta 5 (scipy's
// resample_poly). Gives ceil(n * up / down) samples. Floating type kept.
at::Tensor ResamplePoly(const at::Tensor& signal, int64_t up, int64_t down,
                        ResampleEdge edge = ResampleEdge::kZero);

// A ratio of two whole numbers.
struct Ratio {
  int64_t up = 1;
  int64_t down = 1;
};
// The nearest to to / from with parts of at most 10,000. Throws
// Error(kBadSpec) where none is within a millionth.
Ratio ResampleRatio(double from, double to);

}  // namespace epochd::engine
