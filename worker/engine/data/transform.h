// SPDX-License-Identifier: Apache-2.0
//
// Transform: changes a sample. Stateless after construction and thread-safe;
// all randomness comes from the stream handed in, which belongs to (seed,
// epoch, index), so results do not depend on threads, ranks or restarts.
#pragma once

#include "worker/engine/core/batch.h"
#include "worker/engine/data/random.h"

namespace epochd::engine {

class Transform {
 public:
  virtual ~Transform() = default;

  virtual void Apply(Batch& sample, Random& random) const = 0;
  // Does to a whole batch what Apply does to each sample, bit for bit. False:
  // cannot (because it is random), and nothing was changed.
  virtual bool ApplyToBatch(Batch& batch) const {
    static_cast<void>(batch);
    return false;
  }
};

}  // namespace epochd::engine
