// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/builtin.h"

#include <memory>
#include <string>

#include "worker/engine/schedule/plateau.h"
#include "worker/engine/schedule/recursive.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;

Parameter Gamma() {
  return {.name = "gamma",
          .type = "float",
          .default_value = 0.1,
          .min = 0,
          .aliases = {"lr_gamma"},
          .help = "factor of the learning rate"};
}

std::shared_ptr<LrScheduler> MakeStep(const Params& params) {
  return std::make_shared<StepScheduler>(params.Int("step_size"),
                                         params.Float("gamma"));
}

std::shared_ptr<LrScheduler> MakeMultiStep(const Params& params) {
  return std::make_shared<MultiStepScheduler>(params.Ints("milestones"),
                                              params.Float("gamma"));
}

std::shared_ptr<LrScheduler> MakeExponential(const Params& params) {
  return std::make_shared<ExponentialScheduler>(params.Float("gamma"));
}

std::shared_ptr<LrScheduler> MakeConstant(const Params& params) {
  return std::make_shared<ConstantScheduler>(params.Float("factor"),
                                             params.Int("total_iters"));
}

std::shared_ptr<LrScheduler> MakeCosineAnnealing(const Params& params) {
  return std::make_shared<CosineAnnealingScheduler>(params.Int("t_max"),
                                                    params.Float("eta_min"));
}

std::shared_ptr<LrScheduler> MakePlateau(const Params& params) {
  const std::string mode = params.String("mode");
  PlateauScheduler::Options options;
  options.maximize = mode == "max" || mode == "greater";
  options.factor = params.Float("factor");
  if (options.factor >= 1.0) {
    params.Fail("factor",
                "not below 1; a number from 0 to below 1 is "
                "accepted");
  }
  options.patience = params.Int("patience");
  options.threshold = params.Float("threshold");
  options.absolute_threshold = params.String("threshold_mode") == "abs";
  options.cooldown = params.Int("cooldown");
  options.min_lr = params.Float("min_lr");
  options.eps = params.Float("eps");
  return std::make_shared<PlateauScheduler>(options);
}

Component StepComponent() {
  return {.kind = "lr_scheduler",
          .name = "Step",
          .aliases = {"StepLR", "step"},
          .help =
              "multiplies the learning rate by gamma every step_size "
              "epochs",
          .parameters = {{.name = "step_size",
                          .type = "int",
                          .required = true,
                          .min = 1,
                          .aliases = {"lr_step_size"},
                          .help = "epochs between two changes"},
                         Gamma()}};
}

Component MultiStepComponent() {
  return {.kind = "lr_scheduler",
          .name = "MultiStep",
          .aliases = {"MultiStepLR", "multi_step"},
          .help = "multiplies the learning rate by gamma at each milestone",
          .parameters = {{.name = "milestones",
                          .type = "list<int>",
                          .required = true,
                          .min = 1,
                          .help = "epochs of the changes"},
                         Gamma()}};
}

Component ExponentialComponent() {
  Parameter gamma = Gamma();
  gamma.default_value = nullptr;
  gamma.required = true;
  return {.kind = "lr_scheduler",
          .name = "Exponential",
          .aliases = {"ExponentialLR", "exponential"},
          .help = "multiplies the learning rate by gamma every epoch",
          .parameters = {gamma}};
}

Component ConstantComponent() {
  return {.kind = "lr_scheduler",
          .name = "Constant",
          .aliases = {"ConstantLR", "constant"},
          .help =
              "multiplies the learning rate by factor for the first "
              "total_iters epochs",
          .parameters = {{.name = "factor",
                          .type = "float",
                          .default_value = 1.0 / 3.0,
                          .min = 0,
                          .max = 1,
                          .exclusive_min = true,
                          .help = "factor of the learning rate"},
                         {.name = "total_iters",
                          .type = "int",
                          .default_value = 5,
                          .min = 0,
                          .help = "epochs with the factor"}}};
}

Component CosineAnnealingComponent() {
  return {.kind = "lr_scheduler",
          .name = "CosineAnnealing",
          .aliases = {"CosineAnnealingLR", "cosine"},
          .help =
              "half a cosine from the first learning rate to eta_min in "
              "t_max epochs, then back",
          .parameters = {{.name = "t_max",
                          .type = "int",
                          .required = true,
                          .min = 1,
                          .aliases = {"T_max"},
                          .help = "epochs from the greatest to the smallest"},
                         {.name = "eta_min",
                          .type = "float",
                          .default_value = 0.0,
                          .min = 0,
                          .help = "smallest learning rate"}}};
}

Component PlateauComponent() {
  return {
      .kind = "lr_scheduler",
      .name = "ReduceOnPlateau",
      .aliases = {"ReduceLROnPlateau", "ReduceOnPlateauLR", "plateau"},
      .help =
          "lowers the learning rate when the monitored metric stops "
          "improving",
      .parameters = {
          {.name = "mode",
           .type = "string",
           .default_value = "min",
           .choices = {"min", "max", "less", "greater"},
           .aliases = {"rule"},
           .help = "whether a smaller or a greater value is better"},
          {.name = "factor",
           .type = "float",
           .default_value = 0.1,
           .min = 0,
           .max = 1,
           .help = "factor of the learning rate, below 1"},
          {.name = "patience",
           .type = "int",
           .default_value = 10,
           .min = 0,
           .help = "epochs without improvement that are let pass"},
          {.name = "threshold",
           .type = "float",
           .default_value = 1e-4,
           .min = 0,
           .help = "least improvement that counts"},
          {.name = "threshold_mode",
           .type = "string",
           .default_value = "rel",
           .choices = {"rel", "abs"},
           .aliases = {"threshold_rule"},
           .help = "whether the threshold is a share of the best or absolute"},
          {.name = "cooldown",
           .type = "int",
           .default_value = 0,
           .min = 0,
           .help = "epochs after a change in which bad ones do not count"},
          {.name = "min_lr",
           .type = "float",
           .default_value = 0.0,
           .min = 0,
           .aliases = {"min_value"},
           .help = "smallest learning rate"},
          {.name = "eps",
           .type = "float",
           .default_value = 1e-8,
           .min = 0,
           .help = "smaller changes are not made"}}};
}

}  // namespace

std::vector<Entry<LrScheduler>> BuiltinLrSchedulers() {
  return {{StepComponent(), &MakeStep},
          {MultiStepComponent(), &MakeMultiStep},
          {ExponentialComponent(), &MakeExponential},
          {ConstantComponent(), &MakeConstant},
          {CosineAnnealingComponent(), &MakeCosineAnnealing},
          {PlateauComponent(), &MakePlateau}};
}

}  // namespace epochd::engine
