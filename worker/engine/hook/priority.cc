// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/hook/priority.h"

#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace epochd::engine {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 9> kPriorities = {
    {{"HIGHEST", kHighestPriority},
     {"VERY_HIGH", 10},
     {"HIGH", 30},
     {"ABOVE_NORMAL", 40},
     {"NORMAL", kNormalPriority},
     {"BELOW_NORMAL", 60},
     {"LOW", 70},
     {"VERY_LOW", 90},
     {"LOWEST", kLowestPriority}}};

thread_local int binding_priority = kNormalPriority;
thread_local bool binding_may_stop = true;

}  // namespace

std::optional<int> PriorityByName(std::string_view name) {
  std::string upper;
  for (const char c : name) {
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  for (const auto& [known, priority] : kPriorities) {
    if (known == upper) return priority;
  }
  return std::nullopt;
}

BindingPriority::BindingPriority(int priority, bool may_stop)
    : previous_(std::exchange(binding_priority, priority)),
      previous_may_stop_(std::exchange(binding_may_stop, may_stop)) {}

BindingPriority::~BindingPriority() {
  binding_priority = previous_;
  binding_may_stop = previous_may_stop_;
}

int BindingPriority::current() { return binding_priority; }

bool BindingPriority::may_stop() { return binding_may_stop; }

}  // namespace epochd::engine
