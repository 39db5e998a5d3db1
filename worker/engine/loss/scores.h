// SPDX-License-Identifier: Apache-2.0
//
// The scores that a discriminator gave to real and fake samples, as losses of
// GANs read them. Pure functions, any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "worker/engine/core/batch.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

// Names of the fields that hold the scores.
struct ScoreFields {
  std::string real = "score_real";
  std::string fake = "score_fake";
};

struct RealAndFake {
  at::Tensor real;
  at::Tensor fake;
  at::Tensor weights;  // of both; undefined: all count alike
};
// At least in float, 0 where the weight is. Throws Error(kTraining) naming both
// fields when there are not as many fake as real scores.
RealAndFake ReadScores(const Batch& batch, const ScoreFields& fields,
                       const Weighing& weighing);

// Mean of what is made of scores, by their weights.
at::Tensor MeanScore(const at::Tensor& elements, const at::Tensor& weights);

}  // namespace epochd::engine
