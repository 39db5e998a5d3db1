// SPDX-License-Identifier: Apache-2.0
//
// CollocationPoints: points of a box at which a differential equation, a
// boundary or an initial condition is to hold. A sample has `input` [d], the
// coordinates in the order of the domain, and, where values are given, `target`
// [values], what expressions over the coordinates give there. Point i depends
// on (seed, epoch, i) alone, or on (seed, i) for points that stay.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/points/unit_cube.h"
#include "worker/engine/expression/evaluate.h"

namespace epochd::engine {

struct CollocationOptions {
  struct Axis {
    std::string name;
    double lower = 0.0;
    // As `lower`: the coordinate is fixed.
    double upper = 1.0;
  };
  std::vector<Axis> domain;
  int64_t points = 0;
  Sampling sampling = Sampling::kUniform;
  // Points of each axis that is not fixed, ends included, the last axis
  // changing fastest; in place of `points` and `sampling`.
  std::vector<int64_t> grid = {};
  // Axes on whose two ends the points lie, as many on each end; empty: in the
  // whole box.
  std::vector<std::string> faces = {};
  // Other points each epoch.
  bool resample = false;
  // Sets of the same stream, sampling and number have the same points along
  // the axes that they share.
  uint64_t stream = 0;
  std::vector<std::string> values = {};
  Expression::Constants constants = {};
};

// Throws Error(kBadSpec) naming the option.
std::shared_ptr<Dataset> MakeCollocationPoints(
    const CollocationOptions& options);

}  // namespace epochd::engine
