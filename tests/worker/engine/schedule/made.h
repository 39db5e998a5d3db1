// SPDX-License-Identifier: Apache-2.0
//
// Optimizers and schedulers as job files write them. For tests.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/schedules.h"
#include "worker/engine/registry/build_scope.h"
#include "worker/engine/registry/builtin.h"

namespace epochd::engine {

inline const Registry& Builtins() {
  static const Registry registry = [] {
    Registry filled;
    AddBuiltins(filled);
    filled.Freeze();
    return filled;
  }();
  return registry;
}

inline std::shared_ptr<Optimizer> MadeOptimizer(
    const std::string& job, const std::vector<NamedTensor>& parameters = {}) {
  const auto nothing = catalogue::Json::object();
  BuildScope scope(Builtins(), nothing, "experiment");
  scope.SetOptimizerTargets("", parameters);
  return scope.MakeAs<Optimizer>(catalogue::Json::parse(job),
                                 "experiment.optimizer");
}

inline std::shared_ptr<Scheduler> MadeScheduler(const std::string& job) {
  const auto nothing = catalogue::Json::object();
  BuildScope scope(Builtins(), nothing, "experiment");
  return scope.MakeAs<Scheduler>(catalogue::Json::parse(job),
                                 "experiment.lr_scheduler");
}

// Bound to the optimizer; not started.
inline Schedules MadeSchedules(
    const std::vector<std::string>& jobs,
    const std::shared_ptr<Optimizer>& optimizer, const RunLength& length = {},
    std::function<void(const std::string&)> warn = {}) {
  std::vector<Schedules::Entry> entries;
  for (const std::string& job : jobs) {
    entries.push_back(
        {"", MadeScheduler(job),
         "experiment.lr_scheduler[" + std::to_string(entries.size()) + "]"});
  }
  Schedules schedules(std::move(entries));
  schedules.Bind({{"optimizer", optimizer}}, length, std::move(warn));
  return schedules;
}

// The message of the Error that `work` throws; empty: none.
}  // namespace epochd::engine
