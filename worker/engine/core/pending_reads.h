// SPDX-License-Identifier: Apache-2.0
//
// PendingReads: reads of tensors that go on after their owner was told of them,
// such as a copy that another thread makes. The owner lets them finish before
// it changes a tensor in place. The owner's thread only; what finishes a read
// may take part in it.
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace epochd::engine {

class PendingReads {
 public:
  // `finish` returns when the read is done, wherever it is made.
  void Add(std::function<void()> finish) {
    reads_.push_back(std::move(finish));
  }
  void Finish() {
    if (reads_.empty()) return;
    for (const auto& finish : std::exchange(reads_, {})) finish();
  }

 private:
  std::vector<std::function<void()>> reads_;
};

}  // namespace epochd::engine
