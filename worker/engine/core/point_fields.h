// SPDX-License-Identifier: Apache-2.0
//
// How fields of physics-informed training are called. A set of points `initial`
// is the field `initial` [..., coordinates]; what is known there is
// `initial_target`, and a model's values there are `initial_output`. The usual
// field `input` goes with `target` and `output`.
#pragma once

#include <string>

namespace epochd::engine {

inline std::string OutputFieldOf(const std::string& points) {
  return points == "input" ? "output" : points + "_output";
}

}  // namespace epochd::engine
