// SPDX-License-Identifier: Apache-2.0
//
// Point i of n in the unit cube [0, 1)^d, by itself: what a loader thread needs
// to make any batch of any epoch. `stream` chooses among all such point sets.
// Immutable, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace epochd::engine {

enum class Sampling {
  kUniform,         // independent
  kSobol,           // a Sobol sequence under a random digital shift
  kLatinHypercube,  // one point in each of n slices along every axis
};

class UnitCube {
 public:
  // 1 to kMaxPoints points of 1 to kMaxAxes coordinates.
  static constexpr int64_t kMaxPoints = int64_t{1} << 30;
  static constexpr int64_t kMaxAxes = 16;

  UnitCube(Sampling sampling, int64_t num_points, int64_t num_axes);

  void Point(int64_t index, uint64_t stream, std::span<double> point) const;

 private:
  const Sampling sampling_;
  const int64_t num_points_;
  // Sobol: [axis][bit], 30 bits.
  std::vector<std::array<uint32_t, 30>> directions_;
};

// The Sobol sequence (Joe and Kuo's direction numbers), as
// torch.quasirandom.SobolEngine without scrambling: [axis][bit].
std::vector<std::array<uint32_t, 30>> SobolDirections(int64_t num_axes);
// 30 bits of coordinate `axis` of point `index`.
uint32_t SobolBits(const std::array<uint32_t, 30>& directions, int64_t index);

// Place of `index` in a permutation of [0, size) that `key` chooses: a Feistel
// network over the next power of four, walked until it lands below size.
uint64_t PermutedIndex(uint64_t index, uint64_t size, uint64_t key);

}  // namespace epochd::engine
