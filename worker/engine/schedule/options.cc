// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/options.h"

#include <string>

namespace epochd::engine {

std::vector<catalogue::Parameter> ScheduleParameters() {
  return {
      {.name = "by",
       .type = "string",
       .choices = {"epoch", "iteration", "step"},
       .help = "what it counts: epochs (the default), batches, or steps of the "
               "optimizer, which are fewer where batches are accumulated or "
               "skipped"},
      {.name = "by_epoch",
       .type = "bool",
       .help = "MMEngine's: false is by: iteration"},
      {.name = "begin",
       .type = "int",
       .default_value = 0,
       .min = 0,
       .help = "unit in which it begins; its own count is 0 there"},
      {.name = "end",
       .type = "int",
       .min = 1,
       .help = "unit from which on the value stays; never by default"},
      {.name = "convert_to_iter_based",
       .type = "bool",
       .default_value = false,
       .help = "lengths are in epochs, and values change with each batch"},
      {.name = "setting",
       .type = "string",
       .choices = {"lr", "momentum"},
       .aliases = {"param_name"},
       .help = "what it changes: the learning rate, or the momentum (beta1 of "
               "Adam and its kin)"},
      {.name = "optimizer",
       .type = "any",
       .help = "name of the optimizer it changes, where there are several"},
      {.name = "last_epoch",
       .type = "int",
       .min = -1,
       .max = -1,
       .help = "torch's; where a run goes on is in its checkpoint"},
      {.name = "verbose",
       .type = "bool",
       .help = "accepted and not used: rates are among the metrics"}};
}

std::vector<catalogue::Rule> ScheduleRules() {
  using Check = catalogue::Rule::Check;
  return {{.check = Check::kLess, .of = {"begin", "end"}},
          // Both say what it counts.
          {.check = Check::kIs,
           .of = {"by_epoch"},
           .values = {true},
           .when = {{"by", {"epoch"}}}},
          {.check = Check::kIs,
           .of = {"by_epoch"},
           .values = {false},
           .when = {{"by", {"iteration", "step"}}}},
          // Lengths in epochs are what it converts.
          {.check = Check::kIs,
           .of = {"convert_to_iter_based"},
           .values = {false},
           .when = {{"by", {"iteration", "step"}}}},
          {.check = Check::kIs,
           .of = {"convert_to_iter_based"},
           .values = {false},
           .when = {{"by_epoch", {false}}}}};
}

ScheduleOptions ReadScheduleOptions(const Params& params, Setting setting) {
  ScheduleOptions options{.setting = setting};
  if (params.Has("setting")) {
    options.setting = params.String("setting") == "momentum"
                          ? Setting::kMomentum
                          : Setting::kLr;
  }
  if (params.Has("by_epoch") && !params.Bool("by_epoch")) {
    options.unit = ScheduleUnit::kBatch;
  }
  if (params.Has("by")) {
    const std::string by = params.String("by");
    options.unit = by == "epoch"       ? ScheduleUnit::kEpoch
                   : by == "iteration" ? ScheduleUnit::kBatch
                                       : ScheduleUnit::kStep;
  }
  options.begin = params.Int("begin");
  options.end = params.OptionalInt("end");
  options.convert_to_batches = params.Bool("convert_to_iter_based");
  return options;
}

}  // namespace epochd::engine
