// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/optimization.h"

#include <memory>
#include <utility>
#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

using catalogue::AppendKey;
using catalogue::Json;

void AddSchedules(BuildScope& scope, const std::string& optimizer,
                  const PlacedValue& list,
                  std::vector<Schedules::Entry>& entries) {
  if (list.value.is_null()) return;
  std::string list_path = list.path;
  const Json& value = scope.FollowList(list.value, list_path);
  const auto made = scope.MakeList(typeid(Scheduler), value, list_path);
  for (size_t i = 0; i < made.size(); ++i) {
    const bool is_list = value.is_array();
    const std::string path =
        is_list ? catalogue::AppendIndex(list_path, i) : list_path;
    const BuildScope::Resolved resolved =
        scope.Resolve("scheduler", is_list ? value[i] : value, path);
    // torch's own spelling gives the object, where a name is of use here.
    std::string named = optimizer;
    const auto own = resolved.values.find("optimizer");
    if (own != resolved.values.end() && own->is_string() &&
        ReferenceName(*own).empty()) {
      named = own->get<std::string>();
    }
    entries.push_back(
        {std::move(named), std::static_pointer_cast<Scheduler>(made[i]), path});
  }
}

}  // namespace

Schedules BuildSchedules(BuildScope& scope, const PlacedValue& list,
                         const PlacedValue& by_optimizer) {
  std::vector<Schedules::Entry> entries;
  AddSchedules(scope, "", list, entries);
  if (by_optimizer.value.is_object()) {
    for (const auto& [name, value] : by_optimizer.value.items()) {
      AddSchedules(scope, name, {value, AppendKey(by_optimizer.path, name)},
                   entries);
    }
  }
  return Schedules(std::move(entries));
}

double ScaleRates(const PlacedValue& auto_scale_lr, const StepSize& size,
                  const NamedOptimizers& optimizers) {
  const Json& value = auto_scale_lr.value;
  if (value.is_null()) return 1.0;
  const auto refuse = [&](const std::string& key, const std::string& problem) {
    throw Error(ErrorKind::kBadSpec,
                AppendKey(auto_scale_lr.path, key) + ": " + problem);
  };
  bool is_enabled = false;
  bool counts_accumulation = true;
  int64_t base = 0;
  for (const auto& [key, setting] : value.items()) {
    if (key == "enable" || key == "count_accumulation") {
      if (!setting.is_boolean()) {
        refuse(key, setting.dump() + "; true and false are accepted");
      }
      (key == "enable" ? is_enabled : counts_accumulation) =
          setting.get<bool>();
    } else if (key == "base_batch_size") {
      if (!setting.is_number_integer() || setting.get<int64_t>() < 1) {
        refuse(key,
               setting.dump() + "; a number of samples from 1 is accepted");
      }
      base = setting.get<int64_t>();
    } else {
      refuse(key,
             "not known; enable, base_batch_size and count_accumulation are "
             "accepted");
    }
  }
  if (base == 0) {
    refuse("base_batch_size",
           "missing; the samples of a step that the rates are meant for");
  }
  if (!is_enabled) return 1.0;
  int64_t samples = size.batch_size * size.world_size;
  if (counts_accumulation) samples *= size.batches_per_step;
  const double factor =
      static_cast<double>(samples) / static_cast<double>(base);
  for (const auto& [name, optimizer] : optimizers) {
    optimizer->ScaleRates(factor);
  }
  return factor;
}

}  // namespace epochd::engine
