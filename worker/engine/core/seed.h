// SPDX-License-Identifier: Apache-2.0
//
// Seeds. torch's CPU generator reads only the low 32 bits of a seed, so
// structured seeds (seed, epoch, index, ...) are hashed down to well-mixed
// values first; neighbours then give unrelated streams.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace epochd::engine {

// SplitMix64's output function (Steele, Lea, Flood 2014), chained over the
// parts; never 0.
constexpr uint64_t HashSeed(std::initializer_list<uint64_t> parts) {
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (uint64_t part : parts) {
    state += part + 0x9e3779b97f4a7c15u;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
    state ^= state >> 31;
  }
  return state == 0 ? 1 : state;
}

// 32 well-mixed bits, for at::Generator::set_current_seed.
constexpr uint64_t HashSeed32(std::initializer_list<uint64_t> parts) {
  return HashSeed(parts) >> 32;
}

}  // namespace epochd::engine
