// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/postprocess.h"

#include "worker/engine/core/error.h"

namespace epochd::engine {

void Postprocess(const Postprocessors& postprocessors, Batch& batch) {
  for (const auto& each : postprocessors) {
    if (each->ApplyToBatch(batch)) continue;
    throw Error(ErrorKind::kBadSpec,
                "postprocessor: one works on single samples only, with chance; "
                "those that do the same to each sample are accepted");
  }
}

}  // namespace epochd::engine
