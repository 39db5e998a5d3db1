// SPDX-License-Identifier: Apache-2.0
//
// Who wants to hear that something of a job grew. Followers read by their own
// cursor when woken; what they are told is only "look again", so a slow one
// delays nobody. Safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/job/ids.h"

namespace epochd::events {

class WakeList;

// Ends the subscription when destroyed: from then on the function neither runs
// nor will. Not to be destroyed by the function itself. May outlive the list.
class Subscription {
 public:
  Subscription() = default;
  ~Subscription();
  Subscription(Subscription&& other) noexcept = default;
  Subscription& operator=(Subscription&& other) noexcept;

 private:
  friend class WakeList;
  struct Target {
    absl::Mutex mutex;
    std::function<void()> wake ABSL_GUARDED_BY(mutex);
  };

  explicit Subscription(std::shared_ptr<Target> target)
      : target_(std::move(target)) {}
  void End();

  // Shared with the list, which drops it once it finds it ended.
  std::shared_ptr<Target> target_;
};

class WakeList {
 public:
  // `wake` is called by whoever calls Wake(job): it must be quick and must
  // not call this list. It may be called once more than needed.
  [[nodiscard]] Subscription Subscribe(job::JobId job,
                                       std::function<void()> wake);
  void Wake(job::JobId job);
  // Wakes and forgets all subscribers of a job that is gone.
  void WakeAndForget(job::JobId job);
  // Subscriptions that have not ended.
  int NumSubscribers() const;

 private:
  using Target = Subscription::Target;

  mutable absl::Mutex mutex_;
  mutable std::multimap<job::JobId, std::weak_ptr<Target>> targets_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace epochd::events
