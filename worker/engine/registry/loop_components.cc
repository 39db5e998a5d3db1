// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/loop_components.h"

#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;

Parameter PrecisionParameter() {
  return {.name = "precision",
          .type = "string",
          .choices = {"fp32", "float32", "bf16", "bfloat16"},
          .help = "of the forward pass; the trainer's by default"};
}

Parameter DeviceParameter() {
  return {.name = "device",
          .type = "any",
          .help = "accepted and not used: the service chooses devices"};
}

Parameter RunnerHooksParameter() {
  return {.name = "hooks",
          .type = "list<component<hook>>",
          .default_value = Json::array(),
          .help = "hooks of this runner alone"};
}

Precision ReadPrecision(const Params& params) {
  if (!params.Has("precision")) return Precision::kFloat32;
  return ParsePrecision(params.String("precision"),
                        params.path() + ".precision");
}

std::shared_ptr<EpochRunner> MakeTrainingRunner(const Params& params) {
  auto optimizer = params.Make<Optimizer>("optimizer");
  if (optimizer == nullptr) params.Fail("optimizer", "missing");
  return std::make_shared<TrainingRunner>(
      std::move(optimizer),
      TrainingRunner::Options{
          .precision = ReadPrecision(params),
          .update = {.accumulation = params.Int("gradient_accumulation_steps")},
          .flooding_level = params.Float("flooding_level")});
}

std::shared_ptr<EpochRunner> MakeGanRunner(const Params& params) {
  auto generator = params.Make<Optimizer>("generator_optimizer");
  auto discriminator = params.Make<Optimizer>("discriminator_optimizer");
  if (generator == nullptr) params.Fail("generator_optimizer", "missing");
  if (discriminator == nullptr) {
    params.Fail("discriminator_optimizer", "missing");
  }
  Criterion d_criterion(params.MakeList<Loss>("d_loss"));
  Criterion g_criterion(params.MakeList<Loss>("g_loss"));
  return std::make_shared<GanTrainingRunner>(
      std::move(generator), std::move(discriminator), std::move(d_criterion),
      std::move(g_criterion),
      GanTrainingRunner::Options{.precision = ReadPrecision(params)});
}

std::shared_ptr<ValidationRunner> MakeValidationRunner(const Params& params) {
  return std::make_shared<ValidationRunner>(ReadPrecision(params));
}

}  // namespace

std::vector<Entry<EpochRunner>> BuiltinRunners() {
  Component training{.kind = "runner",
                     .name = "TrainingRunner",
                     .aliases = {"TrainingEpochRunner"},
                     .help = "forward, loss, backward, step"};
  training.parameters = {
      {.name = "optimizer",
       .type = "component<optimizer>",
       .help = "experiment.optimizer by default"},
      {.name = "gradient_accumulation_steps",
       .type = "int",
       .default_value = 1,
       .min = 1,
       .aliases = {"accumulation"},
       .help = "batches whose gradients are added up for one step"},
      {.name = "flooding_level",
       .type = "float",
       .default_value = 0.0,
       .min = 0,
       .help = "loss below which gradients turn round; 0: nowhere"},
      PrecisionParameter(),
      RunnerHooksParameter(),
      DeviceParameter()};
  training.gives = {"train/loss"};
  training.needs = {
      {.any_of = {"data.train"}, .tasks = {"train"}},
      {.any_of = {"loss", "trainer.training_criterion"}, .tasks = {"train"}},
      {.any_of = {"optimizer", ".optimizer"}, .tasks = {"train"}}};
  Component gan{.kind = "runner",
                .name = "GanTrainingRunner",
                .aliases = {"GANTrainingRunner"},
                .help =
                    "trains generator and discriminator in turn; one "
                    "device only",
                .max_replicas = 1};
  gan.parameters = {
      {.name = "d_loss",
       .type = "list<component<loss>>",
       .required = true,
       .aliases = {"d_criterion"},
       .scalar_ok = true,
       .help = "of the discriminator; reads score_real and score_fake"},
      {.name = "g_loss",
       .type = "list<component<loss>>",
       .required = true,
       .aliases = {"g_criterion"},
       .scalar_ok = true,
       .help = "of the generator"},
      {.name = "generator_optimizer",
       .type = "component<optimizer>",
       .aliases = {"optimizer_G"},
       .help = "experiment.optimizers.generator by default"},
      {.name = "discriminator_optimizer",
       .type = "component<optimizer>",
       .aliases = {"optimizer_D"},
       .help = "experiment.optimizers.discriminator by default"},
      {.name = "step_ratio",
       .type = "float",
       .min = 0,
       .exclusive_min = true,
       .help = "the same as a StepRatio hook of this ratio"},
      PrecisionParameter(),
      RunnerHooksParameter(),
      DeviceParameter()};
  gan.gives = {"train/d_loss", "train/g_loss"};
  gan.needs = {
      {.any_of = {"data.train"}, .tasks = {"train"}},
      {.any_of = {"optimizers.generator", ".generator_optimizer"},
       .tasks = {"train"}},
      {.any_of = {"optimizers.discriminator", ".discriminator_optimizer"},
       .tasks = {"train"}}};
  return {{std::move(training), &MakeTrainingRunner},
          {std::move(gan), &MakeGanRunner}};
}

std::vector<Entry<ValidationRunner>> BuiltinValidationRunners() {
  Component validation{.kind = "validation_runner",
                       .name = "ValidationRunner",
                       .aliases = {"ValidationEpochRunner"},
                       .help = "forward, loss and metrics without gradients"};
  validation.parameters = {PrecisionParameter(), RunnerHooksParameter(),
                           DeviceParameter()};
  validation.gives = {"val/loss", "test/loss"};
  return {{std::move(validation), &MakeValidationRunner}};
}

catalogue::Component EpochTrainerComponent() {
  Component trainer{.kind = "trainer",
                    .name = "EpochTrainer",
                    .aliases = {"PyTorchTrainer"},
                    .help = "trains and validates epoch by epoch"};
  trainer.parameters = {
      {.name = "epochs",
       .type = "int",
       .default_value = 1,
       .min = 0,
       .help = "epoch at which the training ends, counted from its start"},
      {.name = "precision",
       .type = "string",
       .default_value = "fp32",
       .choices = {"fp32", "float32", "bf16", "bfloat16"},
       .help = "of forward passes; weights and sums stay float"},
      {.name = "hooks",
       .type = "list<component<hook>>",
       .default_value = Json::array(),
       .help = "beside those of experiment.hooks"},
      {.name = "model", .type = "component<model>", .help = "experiment.model"},
      {.name = "training_epoch_runner",
       .type = "component<runner>",
       .help = "experiment.runner"},
      {.name = "validation_epoch_runner",
       .type = "component<validation_runner>",
       .help = "experiment.validation_runner"},
      {.name = "training_criterion",
       .type = "list<component<loss>>",
       .scalar_ok = true,
       .help = "experiment.loss"},
      {.name = "validation_criterion",
       .type = "list<component<loss>>",
       .scalar_ok = true,
       .help = "experiment.val_loss"},
      {.name = "lr_scheduler",
       .type = "list<component<scheduler>>",
       .scalar_ok = true,
       .help = "experiment.lr_scheduler"},
      {.name = "stop_condition",
       .type = "component<hook>",
       .help = "experiment.stop_condition"}};
  return trainer;
}

}  // namespace epochd::engine
