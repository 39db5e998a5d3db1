// SPDX-License-Identifier: Apache-2.0
//
// HostCopy: gives a snapshot tensors of its own, on the host, so that training
// may go on while it is written. One block of memory holds them and is kept
// from one snapshot to the next: fresh pages would cost more than the copy. One
// thread at a time.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/engine/checkpoint/checkpoint.h"

namespace epochd::engine {

class HostCopy {
 public:
  // Replaces the snapshot's tensors by copies. They are valid until the next
  // call, which overwrites them.
  void Take(Snapshot& snapshot);

 private:
  at::Tensor block_;  // bytes
};

}  // namespace epochd::engine
