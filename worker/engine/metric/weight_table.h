// SPDX-License-Identifier: Apache-2.0
//
// Weight matrices of ChallengeScore as the challenges publish them: a table in
// CSV whose first row and column name the classes.
#pragma once

#include <string>
#include <vector>

namespace epochd::engine {

struct WeightTable {
  std::vector<std::string> classes;
  std::vector<std::vector<double>> weights;  // square
};

// With `classes` those alone, in that order. Throws Error(kBadSpec) naming
// file, line and column.
WeightTable ReadWeightTable(const std::string& path,
                            const std::vector<std::string>& classes);

}  // namespace epochd::engine
