// SPDX-License-Identifier: Apache-2.0
//
// HookPoint: a place in a loop where callbacks run. A public member of whoever
// fires it; custom runners declare their own. An unbound point costs one empty
// check. One thread.
//
//   runner.on_post_step.Bind([](RunnerContext& context) { ... });
//
// Callbacks run by priority, the lowest number first, and among equals in the
// order in which they were bound. What is bound while a hook is attached has
// the hook's priority (BindingPriority); anything else kNormalPriority.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "worker/engine/hook/priority.h"

namespace epochd::engine {

template <class Context>
class HookPoint {
 public:
  using Callback = std::function<void(Context&)>;
  using Id = uint64_t;

  HookPoint() = default;
  HookPoint(const HookPoint&) = delete;
  HookPoint& operator=(const HookPoint&) = delete;

  // Returns what Unbind() takes.
  Id Bind(Callback callback) {
    return Bind(std::move(callback), BindingPriority::current());
  }
  Id Bind(Callback callback, int priority) {
    Binding binding{next_id_++, priority, BindingPriority::may_stop(),
                    std::move(callback)};
    const Id id = binding.id;
    if (depth_ > 0) {
      waiting_.push_back(std::move(binding));
    } else {
      Insert(std::move(binding));
    }
    return id;
  }
  // Does nothing when it is not bound (any more).
  void Unbind(Id id) {
    if (depth_ > 0) {
      leaving_.push_back(id);
    } else {
      Remove(id);
    }
  }
  bool is_bound() const { return !bindings_.empty(); }
  // Something is bound that may ask for the end of the training.
  bool may_stop() const {
    return std::any_of(bindings_.begin(), bindings_.end(),
                       [](const Binding& each) { return each.may_stop; });
  }

  // Runs what was bound before the call; what is bound or unbound meanwhile
  // counts from the next call on. What a callback throws ends the training.
  void Fire(Context& context) {
    if (bindings_.empty()) return;
    const Firing firing(*this);
    for (const Binding& binding : bindings_) binding.callback(context);
  }

 private:
  struct Binding {
    Id id;
    int priority;
    bool may_stop;
    Callback callback;
  };
  // Keeps the list as it is while callbacks run, also when one throws.
  struct Firing {
    explicit Firing(HookPoint& fired) : point(fired) { ++point.depth_; }
    ~Firing() {
      if (--point.depth_ == 0) point.CatchUp();
    }
    Firing(const Firing&) = delete;
    Firing& operator=(const Firing&) = delete;
    HookPoint& point;
  };

  void Insert(Binding binding) {
    const auto place =
        std::upper_bound(bindings_.begin(), bindings_.end(), binding.priority,
                         [](int priority, const Binding& other) {
                           return priority < other.priority;
                         });
    bindings_.insert(place, std::move(binding));
  }
  void Remove(Id id) {
    std::erase_if(bindings_,
                  [id](const Binding& binding) { return binding.id == id; });
  }
  void CatchUp() {
    for (Binding& binding : std::exchange(waiting_, {})) {
      Insert(std::move(binding));
    }
    for (const Id id : std::exchange(leaving_, {})) Remove(id);
  }

  std::vector<Binding> bindings_;
  std::vector<Binding> waiting_;
  std::vector<Id> leaving_;
  int depth_ = 0;
  Id next_id_ = 1;
};

}  // namespace epochd::engine
