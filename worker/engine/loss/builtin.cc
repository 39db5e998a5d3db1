// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/builtin.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/core/parse_number.h"
#include "worker/engine/loss/declarations.h"
#include "worker/engine/loss/loss_schedule.h"

namespace epochd::engine {
namespace {

using catalogue::Component;

std::shared_ptr<Loss> MakeSchedule(const Params& params) {
  std::map<int64_t, LossSchedule::Losses> schedule;
  for (auto& [key, losses] : params.MakeListMap<Loss>("schedule")) {
    const auto epoch = ParseNumber<int64_t>(key);
    if (!epoch || *epoch < 0) {
      params.Fail("schedule", "\"" + key +
                                  "\" is no epoch; 0, 1, ... are "
                                  "accepted");
    }
    schedule.emplace(*epoch, std::move(losses));
  }
  return std::make_shared<LossSchedule>(params.String("name"),
                                        std::move(schedule));
}

Component ScheduleComponent() {
  return {.kind = "loss",
          .name = "LossSchedule",
          .aliases = {"LossScheduler", "loss_schedule"},
          .help = "other losses from certain epochs on",
          .parameters = WithCommon(
              {{.name = "schedule",
                .type = "map<list<component<loss>>>",
                .required = true,
                .scalar_ok = true,
                .min_items = 1,
                .help = "a loss, or several that are added up, by the epoch "
                        "(from 0) that it begins with"}},
              "loss_schedule"),
          .rules = {{.check = catalogue::Rule::Check::kFromZero,
                     .of = {"schedule"}}}};
}

}  // namespace

std::vector<Entry<Loss>> BuiltinLosses() {
  std::vector<Entry<Loss>> all = BuiltinElementLosses();
  for (auto* part : {&BuiltinImageLosses, &BuiltinGanLosses}) {
    for (Entry<Loss>& entry : part()) all.push_back(std::move(entry));
  }
  all.push_back({ScheduleComponent(), &MakeSchedule});
  return all;
}

}  // namespace epochd::engine
