// SPDX-License-Identifier: Apache-2.0
//
// PointSets: several data sets side by side, so that one batch holds points
// inside, on the boundary and at the start, and measured values. Of set `s`
// the field `input` becomes `s`, any other field `f` becomes `s_f` (`target`:
// `s_target`). Shorter sets begin again until the longest is through.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

struct PointSet {
  std::string name;
  std::shared_ptr<const Dataset> dataset;
  // Samples of it in one sample of the whole: fields are [per_sample, ...].
  // Nothing (0): one, and fields have no such dimension.
  int64_t per_sample = 0;
};

// Throws Error(kBadSpec) when there is no set, or an empty one.
std::shared_ptr<Dataset> MakePointSets(std::vector<PointSet> sets);

}  // namespace epochd::engine
