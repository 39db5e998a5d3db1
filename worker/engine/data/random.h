// SPDX-License-Identifier: Apache-2.0
//
// Random streams of the data pipeline: SplitMix64 (Steele, Lea, Flood 2014),
// seeded from hashed parts. Small enough to make one per sample, and the same
// on every machine, unlike <random>'s distributions.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <utility>
#include <vector>

#include "worker/engine/core/seed.h"

namespace epochd::engine {

class Random {
 public:
  explicit Random(std::initializer_list<uint64_t> seed_parts)
      : state_(HashSeed(seed_parts)) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, 1), 53 bits.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // In [0, bound), bound > 0; unbiased by rejection.
  uint64_t Below(uint64_t bound) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t draw;
    do {
      draw = Next();
    } while (draw >= limit);
    return draw % bound;
  }
  // Standard normal, by Box and Muller: two draws.
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }
  // Shuffles in place (Fisher-Yates).
  template <class T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[Below(i)]);
    }
  }

  // Whether both go on alike.
  bool operator==(const Random&) const = default;

 private:
  uint64_t state_;
};

// Keeps streams for different purposes apart.
enum class Stream : uint64_t {
  kOrder = 1,
  kSample = 2,
  kSplit = 3,
  kPatch = 4,
  kBatch = 5,
};

}  // namespace epochd::engine
