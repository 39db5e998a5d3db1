// SPDX-License-Identifier: Apache-2.0
//
// The scores that a discriminator gave to real and fake samples, as losses of
// GANs read them. Pure functions, any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "worker/engine/core/batch.h"

namespace epochd::engine {

// Names of the fields that hold the scores.
struct ScoreFields {
  std::string real = "score_real";
  std::string fake = "score_fake";
};

struct RealAndFake {
  at::Tensor real;
  at::Tensor fake;
};
// At least in float. Throws Error(kTraining) naming both fields when there are
// not as many fake as real scores.
RealAndFake ReadScores(const Batch& batch, const ScoreFields& fields);

}  // namespace epochd::engine
