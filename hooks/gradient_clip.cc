// SPDX-License-Identifier: Apache-2.0
#include "hooks/gradient_clip.h"

#include <limits>

#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {

void GradientClip::Clip(engine::RunnerContext& context, engine::Update& update,
                        const char* metric) const {
  if (options_.max_value) {
    context.AddMetric(metric, update.Norm(options_.norm_type));
    update.ClipValue(*options_.max_value);
    return;
  }
  context.AddMetric(metric,
                    update.ClipNorm(*options_.max_norm, options_.norm_type));
}

void GradientClip::AttachToTraining(engine::TrainingRunner& runner) {
  if (options_.target != Target::kAll) return;
  runner.on_before_optimizer_step.Bind([this](engine::RunnerContext& context) {
    Clip(context, *context.update, "grad_norm");
  });
}

void GradientClip::AttachToGan(engine::GanTrainingRunner& runner) {
  if (options_.target != Target::kGenerator) {
    runner.on_before_d_step.Bind([this](engine::GanContext& context) {
      Clip(context, *context.discriminator_update, "grad_norm_d");
    });
  }
  if (options_.target != Target::kDiscriminator) {
    runner.on_before_g_step.Bind([this](engine::GanContext& context) {
      Clip(context, *context.generator_update, "grad_norm_g");
    });
  }
}

namespace {

double ReadNormType(const engine::Params& params) {
  const catalogue::Json& value = params.Raw("norm_type");
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value.is_number() && value.get<double>() > 0) return value.get<double>();
  params.Fail("norm_type",
              value.dump() + "; a number above 0, or inf, is accepted");
}

GradientClip::Options ReadClipOptions(const engine::Params& params) {
  GradientClip::Options options{.max_norm = params.OptionalFloat("max_norm"),
                                .max_value = params.OptionalFloat("max_value"),
                                .norm_type = ReadNormType(params)};
  if (!options.max_norm && !options.max_value) options.max_norm = 1.0;
  const std::string target = params.String("target");
  options.target = target == "D"   ? GradientClip::Target::kDiscriminator
                   : target == "G" ? GradientClip::Target::kGenerator
                                   : GradientClip::Target::kAll;
  return options;
}

}  // namespace

engine::Entry<engine::Hook> GradientClipEntry() {
  return {
      {.kind = "hook",
       .name = "GradientClip",
       .help = "limits gradients, and tells their norm",
       .parameters = {{.name = "max_norm",
                       .type = "float",
                       .min = 0,
                       .exclusive_min = true,
                       .help = "largest norm over all parameters; 1 "
                               "without max_value"},
                      {.name = "norm_type",
                       .type = "any",
                       .default_value = 2,
                       .help = "p of the norm, or inf"},
                      {.name = "max_value",
                       .type = "float",
                       .min = 0,
                       .exclusive_min = true,
                       .aliases = {"clip_value"},
                       .help = "largest element, in place of max_norm"},
                      {.name = "target",
                       .type = "string",
                       .default_value = "all",
                       .choices = {"all", "D", "G"},
                       .help = "side of a GAN"}},
       .gives = {"train/grad_norm", "train/grad_norm_d", "train/grad_norm_g"},
       .rules = {{.check = catalogue::Rule::Check::kAtMostOne,
                  .of = {"max_norm", "max_value"}}}},
      [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
        return std::make_shared<GradientClip>(ReadClipOptions(params));
      }};
}

}  // namespace epochd::hooks
