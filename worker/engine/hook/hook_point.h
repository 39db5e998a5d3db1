// SPDX-License-Identifier: Apache-2.0
//
// HookPoint: a place in a loop where callbacks run, in the order in which they
// were bound. A public member of whoever fires it; custom runners declare
// their own. An unbound point costs one empty check. One thread.
//
//   runner.on_post_step.Bind([](RunnerContext& context) { ... });
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

namespace epochd::engine {

template <class Context>
class HookPoint {
 public:
  using Callback = std::function<void(Context&)>;

  void Bind(Callback callback) { callbacks_.push_back(std::move(callback)); }
  bool is_bound() const { return !callbacks_.empty(); }

  // Runs the callbacks bound before the call; one bound meanwhile runs from
  // the next call on. What a callback throws ends the training.
  void Fire(Context& context) const {
    const size_t count = callbacks_.size();
    for (size_t i = 0; i < count; ++i) callbacks_[i](context);
  }

 private:
  // A deque: binding during a call leaves the others where they are.
  std::deque<Callback> callbacks_;
};

}  // namespace epochd::engine
