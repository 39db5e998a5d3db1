// SPDX-License-Identifier: Apache-2.0
//
// Callbacks that end when their Subscription is destroyed. Each callback has a
// lock of its own, held while it runs: so destroying the subscription waits for
// a running call and no call comes after. For the same reason do not destroy a
// subscription inside its callback, nor while holding a lock that the callback
// takes.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace epochd::control {

// Ends what it stands for when destroyed.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// One callback, shared by the list it is in and its subscription.
template <typename Argument>
class Subscriber {
 public:
  explicit Subscriber(std::function<void(Argument)> callback)
      : callback_(std::move(callback)) {}

  void Call(const Argument& argument) {
    absl::MutexLock lock(&mutex_);
    if (callback_) callback_(argument);
  }
  void End() {
    absl::MutexLock lock(&mutex_);
    callback_ = nullptr;
  }

 private:
  absl::Mutex mutex_;
  std::function<void(Argument)> callback_ ABSL_GUARDED_BY(mutex_);
};

template <typename Argument>
class SubscriberHandle final : public Subscription {
 public:
  explicit SubscriberHandle(std::shared_ptr<Subscriber<Argument>> subscriber)
      : subscriber_(std::move(subscriber)) {}
  ~SubscriberHandle() override { subscriber_->End(); }

 private:
  const std::shared_ptr<Subscriber<Argument>> subscriber_;
};

// Weak: a destroyed subscription leaves the list when it is next read or added
// to. Guarded by whoever owns it; call the subscribers outside that lock.
template <typename Argument>
class CallbackList {
 public:
  using Ptr = std::shared_ptr<Subscriber<Argument>>;

  void Add(const Ptr& subscriber) {
    Prune();
    list_.push_back(subscriber);
  }
  std::vector<Ptr> All() {
    Prune();
    std::vector<Ptr> all;
    all.reserve(list_.size());
    for (const auto& weak : list_) {
      if (auto strong = weak.lock()) all.push_back(std::move(strong));
    }
    return all;
  }
  // Whether every subscription ended.
  bool empty() const {
    return std::all_of(list_.begin(), list_.end(),
                       [](const auto& weak) { return weak.expired(); });
  }

 private:
  void Prune() {
    std::erase_if(list_, [](const auto& weak) { return weak.expired(); });
  }

  std::vector<std::weak_ptr<Subscriber<Argument>>> list_;
};

}  // namespace epochd::control
