// SPDX-License-Identifier: Apache-2.0
//
// Agreement: ranks hear of a stop, or of a wish for a checkpoint, at different
// moments, yet must act on it after the same step. After each step a rank says
// what it wants; wishes are summed over ranks beside the next steps, and what
// any rank wanted comes back on all of them after the same later step. Rank 0
// stretches the distance between sums so that fast steps do not pay for them.
// Which step that is depends on time; where it must not, all ask Now().
// One rank: wishes come true at once. One thread, the training thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>

#include "worker/engine/dist/communicator.h"

namespace epochd::engine {

class Agreement {
 public:
  struct Wishes {
    bool stop = false;        // end with a checkpoint, go on another time
    bool finish = false;      // end for good, as if all epochs were done
    bool checkpoint = false;  // save and go on
    bool any() const { return stop || finish || checkpoint; }
  };

  // `communicator` outlives this.
  explicit Agreement(Communicator& communicator);

  // After a step, on every rank. Returns what is to be done now.
  Wishes AfterStep(const Wishes& wishes);
  // Asks all ranks now: at ends of epochs, after validations, and at steps at
  // which a hook may stop. Wishes under way are included.
  Wishes Now(const Wishes& wishes);

 private:
  void Start();
  Wishes Finish();

  Communicator& communicator_;
  Wishes wanted_;  // not sent yet
  at::Tensor sum_;
  bool is_under_way_ = false;
  int64_t wait_ = 0;    // steps until the sum under way is looked at
  int64_t period_ = 1;  // agreed distance between sums
  std::chrono::steady_clock::time_point started_;
};

}  // namespace epochd::engine
