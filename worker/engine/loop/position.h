// SPDX-License-Identifier: Apache-2.0
//
// Position: how far a training is. Plain values; what a checkpoint holds.
#pragma once

#include <cstdint>

namespace epochd::engine {

struct Position {
  int64_t epoch = 0;         // running, or next to run; counts from 0
  int64_t batch = 0;         // batches done in it
  int64_t step = 0;          // optimizer steps since the job began; of a GAN,
                             // batches with which either side did one
  int64_t global_batch = 0;  // batches since the job began
};

}  // namespace epochd::engine
