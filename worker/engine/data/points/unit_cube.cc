// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/points/unit_cube.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>

#include "worker/engine/data/random.h"

namespace epochd::engine {

constexpr int kSobolBits = 30;

std::vector<std::array<uint32_t, 30>> SobolDirections(int64_t num_axes) {
  at::Tensor state = at::zeros({num_axes, kSobolBits}, at::kLong);
  at::_sobol_engine_initialize_state_(state, num_axes);
  const auto* values = state.const_data_ptr<int64_t>();
  std::vector<std::array<uint32_t, 30>> directions(
      static_cast<size_t>(num_axes));
  for (auto& axis : directions) {
    for (uint32_t& direction : axis) {
      direction = static_cast<uint32_t>(*values++);
    }
  }
  return directions;
}

uint32_t SobolBits(const std::array<uint32_t, 30>& directions, int64_t index) {
  const auto number = static_cast<uint64_t>(index);
  uint32_t bits = 0;
  for (uint64_t gray = number ^ (number >> 1); gray != 0; gray &= gray - 1) {
    bits ^= directions[static_cast<size_t>(std::countr_zero(gray))];
  }
  return bits;
}

uint64_t PermutedIndex(uint64_t index, uint64_t size, uint64_t key) {
  const int half = (std::bit_width(std::max<uint64_t>(size, 2) - 1) + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = index >> half;
    uint64_t right = index & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = HashSeed({key, round, right}) & mask;
      left = std::exchange(right, left ^ mixed);
    }
    index = left << half | right;
  } while (index >= size);
  return index;
}

UnitCube::UnitCube(Sampling sampling, int64_t num_points, int64_t num_axes)
    : sampling_(sampling), num_points_(num_points) {
  if (sampling == Sampling::kSobol) directions_ = SobolDirections(num_axes);
}

void UnitCube::Point(int64_t index, uint64_t stream,
                     std::span<double> point) const {
  const auto place = static_cast<uint64_t>(index);
  switch (sampling_) {
    case Sampling::kUniform: {
      Random random({stream, place});
      for (double& coordinate : point) coordinate = random.Uniform();
      return;
    }
    case Sampling::kSobol: {
      // The same shift for every point keeps them evenly spread.
      Random random({stream});
      for (size_t axis = 0; axis < point.size(); ++axis) {
        const auto shift = static_cast<uint32_t>(random.Next() >> 34);
        point[axis] = (SobolBits(directions_[axis], index) ^ shift) * 0x1p-30;
      }
      return;
    }
    case Sampling::kLatinHypercube: {
      Random random({stream, place});
      for (size_t axis = 0; axis < point.size(); ++axis) {
        const uint64_t slice =
            PermutedIndex(place, static_cast<uint64_t>(num_points_),
                          HashSeed({stream, axis}));
        point[axis] = (static_cast<double>(slice) + random.Uniform()) /
                      static_cast<double>(num_points_);
      }
      return;
    }
  }
}

}  // namespace epochd::engine
