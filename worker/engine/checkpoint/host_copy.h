// SPDX-License-Identifier: Apache-2.0
//
// HostCopy: gives a snapshot tensors of its own, on the host, so that training
// may go on while it is written. One block of memory holds them and is kept
// from one snapshot to the next: fresh pages would cost more than the copy.
//
// What only an optimizer's step changes is two thirds of a snapshot under Adam.
// It is copied by Finish(), on another thread while the next batch goes forward
// and backward; a step that comes before it is done helps and waits.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "worker/engine/checkpoint/checkpoint.h"

namespace epochd::engine {

class HostCopy {
 public:
  HostCopy();
  ~HostCopy();
  // Replaces the snapshot's tensors by copies; those of `late` may be read
  // after Finish() only. They are valid until the next call, which comes after
  // Finish() and overwrites them. The thread that trains.
  void Take(Snapshot& snapshot);
  // Returns when all is copied. Any thread.
  void Finish();

 private:
  class Work;
  std::shared_ptr<Work> late_;
  at::Tensor block_;  // bytes
};

}  // namespace epochd::engine
