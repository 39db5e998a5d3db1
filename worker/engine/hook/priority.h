// SPDX-License-Identifier: Apache-2.0
//
// Priorities of hooks: which of several runs first at a hook point. Lower
// numbers come first, at every point; the names and numbers are MMEngine's.
// Hooks of equal priority run in the order in which they were declared.
#pragma once

#include <optional>
#include <string_view>

namespace epochd::engine {

inline constexpr int kHighestPriority = 0;
inline constexpr int kNormalPriority = 50;
inline constexpr int kLowestPriority = 100;

// HIGHEST 0, VERY_HIGH 10, HIGH 30, ABOVE_NORMAL 40, NORMAL 50,
// BELOW_NORMAL 60, LOW 70, VERY_LOW 90, LOWEST 100, in either case; nothing
// for another name.
std::optional<int> PriorityByName(std::string_view name);

// While it lives, callbacks that this thread binds get the priority.
// `may_stop`: they may ask for the end of the training (Hook::may_stop).
class BindingPriority {
 public:
  explicit BindingPriority(int priority, bool may_stop = true);
  ~BindingPriority();
  BindingPriority(const BindingPriority&) = delete;
  BindingPriority& operator=(const BindingPriority&) = delete;

  // kNormalPriority where there is none.
  static int current();
  // True where there is none.
  static bool may_stop();

 private:
  const int previous_;
  const bool previous_may_stop_;
};

}  // namespace epochd::engine
