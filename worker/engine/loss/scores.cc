// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/scores.h"

#include <ATen/ATen.h>

#include <sstream>

#include "worker/engine/core/error.h"
#include "worker/engine/loss/fields.h"

namespace epochd::engine {

RealAndFake ReadScores(const Batch& batch, const ScoreFields& fields,
                       const Weighing& weighing) {
  const at::Tensor& real = batch.At(fields.real);
  const at::Tensor& fake = batch.At(fields.fake);
  if (real.sizes() != fake.sizes()) {
    std::ostringstream message;
    message << "batch field \"" << fields.fake << "\": shape " << fake.sizes()
            << " does not go with shape " << real.sizes() << " of \""
            << fields.real << "\"; as many fake as real scores are accepted";
    throw Error(ErrorKind::kTraining, message.str());
  }
  const at::Tensor weights = WeightsOf(batch, weighing, real.sizes(),
                                       AtLeastFloat(real).scalar_type());
  return {Blanked(AtLeastFloat(real), weights),
          Blanked(AtLeastFloat(fake), weights), weights};
}

at::Tensor MeanScore(const at::Tensor& elements, const at::Tensor& weights) {
  return Reduce(elements, weights, Reduction::kMean);
}

}  // namespace epochd::engine
