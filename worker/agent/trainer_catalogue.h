// SPDX-License-Identifier: Apache-2.0
//
// The components that this worker's trainer has, as told to the coordinator.
// Blocks while the trainer prints them.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace epochd::agent {

struct TrainerCatalogue {
  std::string json;
  std::string sha256;
};

// Runs `trainer --catalogue`, or takes what an earlier run of the very same
// file printed from `cache_dir` (empty: always asks). UNAVAILABLE when the
// trainer cannot be run or prints no JSON object.
absl::StatusOr<TrainerCatalogue> LoadTrainerCatalogue(
    const std::string& trainer, const std::string& cache_dir);

// Reads it from a file that the build made.
absl::StatusOr<TrainerCatalogue> ReadCatalogueFile(const std::string& path);

}  // namespace epochd::agent
