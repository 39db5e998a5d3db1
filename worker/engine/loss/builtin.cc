// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/builtin.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/loss/loss_schedule.h"
#include "worker/engine/loss/pointwise.h"
#include "worker/engine/loss/ragan.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;

Parameter Field(const std::string& name, const std::string& value,
                const std::string& help) {
  return {.name = name, .type = "string", .default_value = value, .help = help};
}

// Gives what every loss takes, behind its own parameters.
std::vector<Parameter> WithCommon(std::vector<Parameter> parameters,
                                  const std::string& name) {
  parameters.push_back({.name = "weight",
                        .type = "float",
                        .default_value = 1.0,
                        .aliases = {"loss_weight"},
                        .help = "factor of this loss in the total"});
  parameters.push_back(Field("name", name, "name in metrics"));
  return parameters;
}

std::vector<Parameter> Compared(std::vector<Parameter> parameters,
                                const std::string& name) {
  parameters.push_back(Field("output", "output", "field with the prediction"));
  parameters.push_back(Field("target", "target", "field with the truth"));
  return WithCommon(std::move(parameters), name);
}

std::vector<Parameter> Scored(const std::string& name) {
  return WithCommon(
      {Field("real", "score_real", "field with scores of real samples"),
       Field("fake", "score_fake", "field with scores of fake samples")},
      name);
}

ComparedFields ComparedFrom(const Params& params) {
  return {params.String("output"), params.String("target")};
}

ScoreFields ScoresFrom(const Params& params) {
  return {params.String("real"), params.String("fake")};
}

std::shared_ptr<Loss> MakeCrossEntropy(const Params& params) {
  CrossEntropyLoss::Options options;
  options.fields = ComparedFrom(params);
  options.name = params.String("name");
  options.weight = params.Float("weight");
  options.label_smoothing = params.Float("label_smoothing");
  options.class_weights = params.Floats("class_weights");
  options.ignore_index = params.Int("ignore_index");
  return std::make_shared<CrossEntropyLoss>(std::move(options));
}

std::shared_ptr<Loss> MakeBceWithLogits(const Params& params) {
  BceWithLogitsLoss::Options options;
  options.fields = ComparedFrom(params);
  options.name = params.String("name");
  options.weight = params.Float("weight");
  options.pos_weight = params.Floats("pos_weight");
  return std::make_shared<BceWithLogitsLoss>(std::move(options));
}

template <class T>
std::shared_ptr<Loss> MakeCompared(const Params& params) {
  return std::make_shared<T>(typename T::Options{
      ComparedFrom(params), params.String("name"), params.Float("weight")});
}

template <class T>
std::shared_ptr<Loss> MakeScored(const Params& params) {
  return std::make_shared<T>(typename T::Options{
      ScoresFrom(params), params.String("name"), params.Float("weight")});
}

std::shared_ptr<Loss> MakeSchedule(const Params& params) {
  std::map<int64_t, LossSchedule::Losses> schedule;
  for (auto& [key, losses] : params.MakeListMap<Loss>("schedule")) {
    int64_t epoch = 0;
    const auto [end, error] =
        std::from_chars(key.data(), key.data() + key.size(), epoch);
    if (error != std::errc() || end != key.data() + key.size() || epoch < 0) {
      params.Fail("schedule", "\"" + key +
                                  "\" is no epoch; 0, 1, ... are "
                                  "accepted");
    }
    schedule[epoch] = std::move(losses);
  }
  try {
    return std::make_shared<LossSchedule>(params.String("name"),
                                          std::move(schedule));
  } catch (const Error& error) {
    throw Error(error.kind(), params.path() + "." + error.what());
  }
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
                .help = "a loss, or several that are added up, by the epoch "
                        "(from 0) that it begins with"}},
              "loss_schedule")};
}

Component CrossEntropyComponent() {
  return {.kind = "loss",
          .name = "CrossEntropy",
          .aliases = {"CrossEntropyLoss", "cross_entropy"},
          .help =
              "cross entropy of class scores (logits) [B, C, ...] and classes "
              "[B, ...] or class probabilities [B, C, ...]",
          .parameters = Compared(
              {{.name = "label_smoothing",
                .type = "float",
                .default_value = 0.0,
                .min = 0.0,
                .max = 1.0,
                .help = "share of the target spread evenly over the classes"},
               {.name = "class_weights",
                .type = "list<float>",
                .default_value = catalogue::Json::array(),
                .help = "one weight per class; all 1 when empty"},
               {.name = "ignore_index",
                .type = "int",
                .default_value = -100,
                .help = "samples of this class do not count"}},
              "cross_entropy")};
}

Component BceWithLogitsComponent() {
  return {.kind = "loss",
          .name = "BCEWithLogits",
          .aliases = {"BCEWithLogitsLoss", "bce_with_logits"},
          .help = "binary cross entropy of logits and targets in [0, 1]",
          .parameters = Compared(
              {{.name = "pos_weight",
                .type = "list<float>",
                .default_value = catalogue::Json::array(),
                .scalar_ok = true,
                .help = "weight of positive targets, one or one per class"}},
              "bce_with_logits")};
}

}  // namespace

std::vector<Entry<Loss>> BuiltinLosses() {
  return {
      {CrossEntropyComponent(), &MakeCrossEntropy},
      {{.kind = "loss",
        .name = "MSE",
        .aliases = {"MSELoss", "mse"},
        .help = "mean squared error",
        .parameters = Compared({}, "mse")},
       &MakeCompared<MseLoss>},
      {{.kind = "loss",
        .name = "L1",
        .aliases = {"L1Loss", "MAE", "l1"},
        .help = "mean absolute error",
        .parameters = Compared({}, "l1")},
       &MakeCompared<L1Loss>},
      {BceWithLogitsComponent(), &MakeBceWithLogits},
      {ScheduleComponent(), &MakeSchedule},
      {{.kind = "loss",
        .name = "RaGanDiscriminatorLoss",
        .aliases = {"RaGANDiscriminatorLoss", "RaGanDLoss"},
        .help = "discriminator's loss of a relativistic average GAN",
        .parameters = Scored("ragan_d")},
       &MakeScored<RaGanDiscriminatorLoss>},
      {{.kind = "loss",
        .name = "RaGanGeneratorLoss",
        .aliases = {"RaGANGeneratorLoss", "RaGanGLoss"},
        .help = "generator's adversarial loss of a relativistic average GAN",
        .parameters = Scored("ragan_g")},
       &MakeScored<RaGanGeneratorLoss>},
  };
}

}  // namespace epochd::engine
