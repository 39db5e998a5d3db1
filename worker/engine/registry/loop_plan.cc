// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/loop_plan.h"

#include <algorithm>
#include <cmath>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

catalogue::Parameter Limit(const char* name, const char* help) {
  return {.name = name, .type = "float", .min = 0, .help = help};
}

// A whole number of batches, or a share in (0, 1] written with a point.
BatchLimit ReadLimit(const Params& params, const char* name) {
  BatchLimit limit;
  if (!params.Has(name)) return limit;
  const catalogue::Json& given = params.Raw(name);
  if (given.is_number_integer()) {
    limit.batches = given.get<int64_t>();
    return limit;
  }
  const double share = params.Float(name);
  if (share > 1.0 && share != std::floor(share)) {
    params.Fail(name, given.dump() +
                          "; a whole number of batches, or a share from 0.0 to "
                          "1.0, is accepted");
  }
  if (share > 1.0) {
    limit.batches = static_cast<int64_t>(share);
  } else {
    limit.share = share;
  }
  return limit;
}

std::vector<std::pair<int64_t, int64_t>> ReadDynamicIntervals(
    const Params& params) {
  std::vector<std::pair<int64_t, int64_t>> intervals;
  if (!params.Has("dynamic_intervals")) return intervals;
  const catalogue::Json& given = params.Raw("dynamic_intervals");
  const auto refuse = [&] {
    params.Fail("dynamic_intervals",
                given.dump() +
                    "; a list of [milestone, interval], milestones ascending "
                    "and both 1 or more, is accepted");
  };
  if (!given.is_array()) refuse();
  for (const catalogue::Json& each : given) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_number_integer() ||
        !each[1].is_number_integer() || each[0] < 1 || each[1] < 1 ||
        (!intervals.empty() && each[0] <= intervals.back().first)) {
      refuse();
    }
    intervals.emplace_back(each[0].get<int64_t>(), each[1].get<int64_t>());
  }
  return intervals;
}

}  // namespace

std::vector<catalogue::Parameter> LoopParameters() {
  return {
      {.name = "max_steps",
       .type = "int",
       .min = 0,
       .help = "optimizer steps after which the training ends"},
      {.name = "max_time",
       .type = "duration",
       .help = "training time after which it ends, over all attempts"},
      {.name = "min_epochs",
       .type = "int",
       .default_value = 0,
       .min = 0,
       .help = "epochs before which no stop condition is heard"},
      {.name = "val_begin",
       .type = "int",
       .default_value = 1,
       .min = 1,
       .help = "no validation before that many epochs (iterations) are done"},
      {.name = "dynamic_intervals",
       .type = "any",
       .help = "[[milestone, interval], ...]: from so many epochs (iterations) "
               "on, val_interval is this"},
      {.name = "val_at_end",
       .type = "bool",
       .help = "validate at the end whatever the interval; true unless "
               "val_interval is a part of an epoch"},
      {.name = "sanity_batches",
       .type = "int",
       .default_value = 0,
       .min = 0,
       .help = "batches to validate before the training, to see that it works"},
      Limit("limit_train_batches",
            "batches of an epoch: a whole number, or a share such as 0.1"),
      Limit("limit_val_batches", "the same for a validation"),
      Limit("limit_test_batches", "the same for data.test"),
      Limit("limit_predict_batches", "the same for data.predict"),
      Limit("overfit_batches",
            "train on these first batches alone, unshuffled, and validate on "
            "them"),
      {.name = "fast_dev_run",
       .type = "any",
       .help = "true or n: one epoch of n batches of every part, without "
               "checkpoints, to see that all runs"},
      {.name = "loss_mean",
       .type = "string",
       .default_value = "samples",
       .choices = {"samples", "batches"},
       .help = "what losses of an epoch are the mean over"}};
}

LoopPlan ReadLoopPlan(const Params& trainer, bool by_batches) {
  LoopPlan plan;
  ValidationPlan& validation = plan.validation;
  if (by_batches) {
    plan.max_batches = trainer.OptionalInt("max_iterations");
    plan.groups_cross_epochs = true;
    validation.unit = ValidationPlan::Unit::kBatches;
    validation.interval = trainer.Int("val_interval");
  } else {
    plan.max_epochs = trainer.OptionalInt("epochs");
    if (!plan.max_epochs && !trainer.Has("max_steps") &&
        !trainer.Has("max_time")) {
      plan.max_epochs = 1;
    }
    plan.groups_cross_epochs = trainer.Bool("accumulate_across_epochs");
    const double interval = trainer.Float("val_interval");
    if (interval < 1.0) {
      validation.fraction = interval;
    } else if (interval == std::floor(interval)) {
      validation.interval = static_cast<int64_t>(interval);
    } else {
      trainer.Fail("val_interval",
                   trainer.Raw("val_interval").dump() +
                       "; a whole number of epochs, or a part of one such as "
                       "0.25, is accepted");
    }
  }
  plan.max_steps = trainer.OptionalInt("max_steps");
  if (trainer.Has("max_time")) {
    plan.max_seconds = catalogue::ParseDuration(trainer.String("max_time"));
  }
  plan.min_epochs = trainer.Int("min_epochs");
  plan.sanity_batches = trainer.Int("sanity_batches");
  validation.begin = trainer.Int("val_begin");
  validation.dynamic_intervals = ReadDynamicIntervals(trainer);
  if (validation.fraction && !validation.dynamic_intervals.empty()) {
    trainer.Fail("dynamic_intervals",
                 "beside a val_interval of " +
                     trainer.Raw("val_interval").dump() +
                     ", a part of an epoch; with a whole number they are "
                     "accepted");
  }
  validation.at_end = trainer.Has("val_at_end") ? trainer.Bool("val_at_end")
                                                : !validation.fraction;
  if (const int64_t trial = ReadDataLimits(trainer).fast_dev_run; trial > 0) {
    plan.max_epochs = 1;
    plan.max_batches = trial;
    plan.sanity_batches = 0;
    validation = {};
  }
  return plan;
}

int64_t BatchLimit::Of(int64_t available, const std::string& path) const {
  if (batches) return *batches;
  if (available < 0) {
    throw Error(ErrorKind::kBadSpec,
                path +
                    ": a share of data whose number of batches is not "
                    "known; a whole number is accepted");
  }
  // A share of something is something.
  const auto part =
      static_cast<int64_t>(static_cast<double>(available) * *share);
  return *share > 0 && available > 0 ? std::max<int64_t>(part, 1) : part;
}

const BatchLimit& DataLimits::Of(const std::string& part) const {
  if (part == "train") return train;
  if (part == "val") return val;
  return part == "test" ? test : predict;
}

DataLimits ReadDataLimits(const Params& trainer) {
  DataLimits limits{.train = ReadLimit(trainer, "limit_train_batches"),
                    .val = ReadLimit(trainer, "limit_val_batches"),
                    .test = ReadLimit(trainer, "limit_test_batches"),
                    .predict = ReadLimit(trainer, "limit_predict_batches"),
                    .overfit = ReadLimit(trainer, "overfit_batches")};
  if (!trainer.Has("fast_dev_run")) return limits;
  const catalogue::Json& trial = trainer.Raw("fast_dev_run");
  if (trial.is_boolean()) {
    limits.fast_dev_run = trial.get<bool>() ? 1 : 0;
  } else if (trial.is_number_integer() && trial >= 0) {
    limits.fast_dev_run = trial.get<int64_t>();
  } else {
    trainer.Fail(
        "fast_dev_run",
        trial.dump() + "; true, false or a number of batches is accepted");
  }
  if (limits.fast_dev_run > 0) {
    limits.train.batches = limits.val.batches = limits.test.batches =
        limits.predict.batches = limits.fast_dev_run;
  }
  return limits;
}

}  // namespace epochd::engine
