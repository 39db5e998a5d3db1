// SPDX-License-Identifier: Apache-2.0
//
// Postprocessors of a runner: transforms of whole batches between the model and
// losses, metrics or predictions. In training gradients flow through them.
#pragma once

#include <memory>
#include <vector>

#include "worker/engine/core/batch.h"
#include "worker/engine/data/transform.h"

namespace epochd::engine {

using Postprocessors = std::vector<std::shared_ptr<Transform>>;

// Applies them in order to the batch with the model's output. Throws
// Error(kBadSpec) for one that works on single samples only.
void Postprocess(const Postprocessors& postprocessors, Batch& batch);

}  // namespace epochd::engine
