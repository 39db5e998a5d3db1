// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/loop_components.h"

#include <limits>

#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/training_runner.h"
#include "worker/engine/registry/loop_plan.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;

Parameter PrecisionParameter() {
  return {.name = "precision",
          .type = "string",
          .choices = {"fp32", "float32", "bf16", "bfloat16", "fp16", "float16"},
          .help = "of the forward pass; the trainer's by default"};
}

const catalogue::Rule kOnePrecision{.check = catalogue::Rule::Check::kAtMostOne,
                                    .of = {"precision", "mixed_precision"}};

Parameter MixedPrecisionParameter() {
  return {.name = "mixed_precision",
          .type = "bool",
          .help = "true is precision: fp16, false fp32"};
}

Parameter PostprocessorParameter() {
  return {.name = "postprocessor",
          .type = "list<component<transform>>",
          .default_value = Json::array(),
          .aliases = {"postprocessors"},
          .scalar_ok = true,
          .help =
              "done to whole batches after the model, before losses, "
              "metrics or predictions; transforms without chance"};
}

// How gradients become a step.
std::vector<Parameter> UpdateParameters() {
  return {{.name = "grad_scaler",
           .type = "map<float>",
           .min = 0,
           .exclusive_min = true,
           .choices = {"init_scale", "growth_factor", "backoff_factor",
                       "growth_interval"},
           .help = "of fp16: {init_scale: 65536, growth_factor: 2, "
                   "backoff_factor: 0.5, growth_interval: 2000}"},
          {.name = "non_finite_gradients",
           .type = "string",
           .default_value = "auto",
           .choices = {"auto", "skip", "error", "apply"},
           .help = "what becomes of a step with them: left out and counted, "
                   "an error, or done; auto: skip on CPUs, apply elsewhere "
                   "(fp16 always skips)"},
          {.name = "max_non_finite_steps",
           .type = "int",
           .default_value = 100,
           .min = 0,
           .help = "so many steps left out in a row end the training with an "
                   "error; 0: never"}};
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
  if (!params.Has("precision")) {
    return params.Has("mixed_precision") && params.Bool("mixed_precision")
               ? Precision::kFloat16
               : Precision::kFloat32;
  }
  return ParsePrecision(params.String("precision"),
                        params.path() + ".precision");
}

GradScaler::Options ReadScaler(const Params& params) {
  GradScaler::Options options;
  const Json& given = params.Raw("grad_scaler");
  if (given.is_null()) return options;
  options.init_scale = given.value("init_scale", options.init_scale);
  if (options.init_scale > std::numeric_limits<float>::max()) {
    params.Fail("grad_scaler", "init_scale: " + given.at("init_scale").dump() +
                                   "; up to 3.4e38 is accepted");
  }
  options.growth_factor = given.value("growth_factor", options.growth_factor);
  options.backoff_factor =
      given.value("backoff_factor", options.backoff_factor);
  if (const auto found = given.find("growth_interval"); found != given.end()) {
    if (!found->is_number_integer()) {
      params.Fail("grad_scaler", "growth_interval: " + found->dump() +
                                     "; a whole number is accepted");
    }
    options.growth_interval = found->get<int64_t>();
  }
  return options;
}

Update::Options ReadUpdate(const Params& params, Precision precision) {
  Update::Options options;
  if (precision == Precision::kFloat16) options.scaler = ReadScaler(params);
  options.max_skipped_in_a_row = params.Int("max_non_finite_steps");
  const std::string non_finite = params.String("non_finite_gradients");
  options.non_finite = non_finite == "skip"    ? Update::NonFinite::kSkip
                       : non_finite == "error" ? Update::NonFinite::kError
                       : non_finite == "apply" ? Update::NonFinite::kApply
                                               : Update::NonFinite::kAuto;
  return options;
}

std::shared_ptr<EpochRunner> MakeTrainingRunner(const Params& params) {
  auto optimizer = params.Make<Optimizer>("optimizer");
  if (optimizer == nullptr) params.Fail("optimizer", "missing");
  TrainingRunner::Options options{.precision = ReadPrecision(params)};
  options.update = ReadUpdate(params, options.precision);
  options.postprocessors = params.MakeList<Transform>("postprocessor");
  options.flooding_level = params.Float("flooding_level");
  options.update.accumulation = params.Int("gradient_accumulation_steps");
  options.update.remainder = params.String("remainder") == "actual"
                                 ? Update::Remainder::kActual
                                 : Update::Remainder::kFull;
  options.update.mean = params.String("gradient_mean") == "items"
                            ? Update::Mean::kItems
                            : Update::Mean::kBatches;
  return std::make_shared<TrainingRunner>(std::move(optimizer), options);
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
  GanTrainingRunner::Options options{.precision = ReadPrecision(params)};
  options.update = ReadUpdate(params, options.precision);
  options.postprocessors = params.MakeList<Transform>("postprocessor");
  return std::make_shared<GanTrainingRunner>(
      std::move(generator), std::move(discriminator), std::move(d_criterion),
      std::move(g_criterion), options);
}

std::shared_ptr<ValidationRunner> MakeValidationRunner(const Params& params) {
  return std::make_shared<ValidationRunner>(ValidationRunner::Options{
      .precision = ReadPrecision(params),
      .postprocessors = params.MakeList<Transform>("postprocessor")});
}

std::shared_ptr<ValidationRunner> MakeBenchmarkRunner(const Params& params) {
  return std::make_shared<ValidationRunner>(ValidationRunner::Options{
      .precision = ReadPrecision(params),
      .needs_criterion = false,
      .postprocessors = params.MakeList<Transform>("postprocessor")});
}

std::shared_ptr<PredictionRunner> MakePredictionRunner(const Params& params) {
  return std::make_shared<PredictionRunner>(PredictionRunner::Options{
      .precision = ReadPrecision(params),
      .fields = params.Strings("fields"),
      .mask = params.String("mask"),
      .join = params.Bool("join"),
      .postprocessors = params.MakeList<Transform>("postprocessor")});
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
      {.name = "remainder",
       .type = "string",
       .default_value = "full",
       .choices = {"full", "actual"},
       .help = "what losses of a last group of fewer batches are divided by: "
               "gradient_accumulation_steps, or how many they are"},
      {.name = "gradient_mean",
       .type = "string",
       .default_value = "batches",
       .choices = {"batches", "items"},
       .help = "what the gradients of a step are a mean of: the means of its "
               "batches and of ranks, or all their items alike: samples, or "
               "labels that count"},
      PrecisionParameter(),
      PostprocessorParameter(),
      MixedPrecisionParameter(),
      RunnerHooksParameter(),
      DeviceParameter()};
  for (Parameter& parameter : UpdateParameters()) {
    training.parameters.push_back(std::move(parameter));
  }
  // Those of the validation that follows too: its runner is seldom named.
  training.gives = {"train/loss", "val/loss", "test/loss"};
  training.rules.push_back(kOnePrecision);
  training.losses = {{.at = "loss"}, {.at = "trainer.training_criterion"}};
  training.needs = {
      {.any_of = {"data.train"}, .tasks = {"train"}},
      // Or a model with a training step of its own, which gives its loss.
      {.any_of = {"loss", "trainer.training_criterion", "train/loss"},
       .tasks = {"train"}},
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
      PostprocessorParameter(),
      PrecisionParameter(),
      MixedPrecisionParameter(),
      RunnerHooksParameter(),
      DeviceParameter()};
  for (Parameter& parameter : UpdateParameters()) {
    gan.parameters.push_back(std::move(parameter));
  }
  gan.rules.push_back(kOnePrecision);
  gan.gives = {"train/d_loss", "train/g_loss", "val/loss", "test/loss"};
  gan.losses = {{.at = ".d_loss",
                 .fields = {"score_real", "score_fake"},
                 .role = "discriminator"},
                {.at = ".g_loss",
                 .fields = {"score_fake", "score_real", "fake"},
                 .role = "generator"},
                // Beside g_loss, and in validation.
                {.at = "loss", .fields = {"fake"}},
                {.at = "trainer.training_criterion", .fields = {"fake"}},
                {.at = "val_loss", .fields = {"fake"}},
                {.at = "trainer.validation_criterion", .fields = {"fake"}}};
  gan.needs = {
      {.any_of = {"data.train"}, .tasks = {"train"}},
      {.any_of = {"optimizers.generator", ".generator_optimizer"},
       .tasks = {"train"}},
      {.any_of = {"optimizers.discriminator", ".discriminator_optimizer"},
       .tasks = {"train"}},
      {.any_of = {"trainer.model", "model"},
       .tasks = {"train"},
       .role = "GAN"}};
  return {{std::move(training), &MakeTrainingRunner},
          {std::move(gan), &MakeGanRunner}};
}

std::vector<Entry<ValidationRunner>> BuiltinValidationRunners() {
  Component validation{.kind = "validation_runner",
                       .name = "ValidationRunner",
                       .aliases = {"ValidationEpochRunner"},
                       .help = "forward, loss and metrics without gradients"};
  validation.parameters = {PrecisionParameter(), PostprocessorParameter(),
                           MixedPrecisionParameter(), RunnerHooksParameter(),
                           DeviceParameter()};
  validation.rules = {kOnePrecision};
  validation.gives = {"val/loss", "test/loss"};
  Component benchmark = validation;
  benchmark.name = "BenchmarkRunner";
  benchmark.aliases.clear();
  benchmark.help = "the same; losses and metrics may be absent";
  return {{std::move(validation), &MakeValidationRunner},
          {std::move(benchmark), &MakeBenchmarkRunner}};
}

std::vector<Entry<PredictionRunner>> BuiltinPredictionRunners() {
  Component prediction{.kind = "prediction_runner",
                       .name = "PredictionRunner",
                       .help = "forward passes whose outputs are the result"};
  prediction.parameters = {
      {.name = "fields",
       .type = "list<string>",
       .default_value = Json::array(),
       .scalar_ok = true,
       .help = "fields that are kept; what the model returns by default"},
      {.name = "mask",
       .type = "string",
       .default_value = "mask",
       .help = "field that marks real samples; rows of padding are removed"},
      {.name = "join",
       .type = "bool",
       .default_value = true,
       .help = "keep all outputs and join them; else they only go to hooks, "
               "batch by batch"},
      PrecisionParameter(),
      PostprocessorParameter(),
      MixedPrecisionParameter(),
      RunnerHooksParameter(),
      DeviceParameter()};
  prediction.rules = {kOnePrecision};
  return {{std::move(prediction), &MakePredictionRunner}};
}

std::vector<catalogue::Component> TrainerComponents() {
  Component by_epoch{.kind = "trainer",
                     .name = "EpochTrainer",
                     .aliases = {"PyTorchTrainer", "EpochBasedTrainLoop"},
                     .help = "trains and validates epoch by epoch"};
  by_epoch.parameters = {
      {.name = "epochs",
       .type = "int",
       .min = 0,
       .aliases = {"max_epochs"},
       .help = "epoch at which the training ends, counted from its start; 1 "
               "where neither max_steps nor max_time is given"},
      {.name = "val_interval",
       .type = "float",
       .default_value = 1,
       .min = 0,
       .exclusive_min = true,
       .help = "validate after every n-th epoch; below 1: after each such part "
               "of the batches of an epoch"},
      {.name = "accumulate_across_epochs",
       .type = "bool",
       .default_value = false,
       .help = "an epoch's end does not end a group of accumulated batches"}};
  Component by_batches{.kind = "trainer",
                       .name = "IterationTrainer",
                       .aliases = {"IterBasedTrainLoop"},
                       .help =
                           "trains for a number of batches, over the data "
                           "again and again",
                       .needs = {{.any_of = {".max_iterations", ".max_steps",
                                             ".max_time", ".fast_dev_run"},
                                  .tasks = {"train"}}}};
  by_batches.parameters = {
      {.name = "max_iterations",
       .type = "int",
       .min = 0,
       .aliases = {"max_iters"},
       .help = "batches after which the training ends, counted from its start"},
      {.name = "val_interval",
       .type = "int",
       .default_value = 1000,
       .min = 1,
       .help = "validate after every n-th batch"}};
  const std::vector<Parameter> parts = {
      {.name = "precision",
       .type = "string",
       .default_value = "fp32",
       .choices = {"fp32", "float32", "bf16", "bfloat16", "fp16", "float16"},
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
  for (Component* trainer : {&by_epoch, &by_batches}) {
    for (const std::vector<Parameter>& list : {LoopParameters(), parts}) {
      trainer->parameters.insert(trainer->parameters.end(), list.begin(),
                                 list.end());
    }
  }
  return {std::move(by_epoch), std::move(by_batches)};
}

}  // namespace epochd::engine
