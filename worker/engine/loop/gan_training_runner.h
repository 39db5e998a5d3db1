// SPDX-License-Identifier: Apache-2.0
//
// GanTrainingRunner: trains a generator and a discriminator in turn, on one
// device. For each batch:
//
//   fakes are generated (once; not again after the discriminator's step), and
//   postprocessors applied to the batch with them
//   on_pre_step                       hooks set run_d and run_g
//   run_d: on_pre_d_forward   scores of real and detached fake images
//          on_post_d_forward  d_extra_losses    -> backward
//          on_post_d_backward, on_before_d_step
//          -> the discriminator's step, on_after_d_step
//   run_g: on_pre_g_forward   scores by the discriminator as it now is, frozen
//          on_post_g_forward  g_extra_losses    -> backward
//          on_post_g_backward, on_before_g_step
//          -> the generator's step, on_after_g_step
//   on_post_step, on_step_metrics
//
// Losses read the fields real, fake, score_real and score_fake. The trainer's
// criterion, if there is one, joins the generator's loss (a pixel loss).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/hook/hook_point.h"
#include "worker/engine/loop/epoch_runner.h"
#include "worker/engine/loop/postprocess.h"
#include "worker/engine/loop/precision.h"
#include "worker/engine/loop/update.h"

namespace epochd::engine {

class GanTrainingRunner : public EpochRunner {
 public:
  struct Options {
    Precision precision = Precision::kFloat32;
    // Of each side; without accumulation.
    Update::Options update{};
    // Gradients of the generator flow through them.
    Postprocessors postprocessors{};
  };
  GanTrainingRunner(std::shared_ptr<Optimizer> generator,
                    std::shared_ptr<Optimizer> discriminator,
                    Criterion d_criterion, Criterion g_criterion,
                    const Options& options)
      : precision_(options.precision),
        postprocessors_(options.postprocessors),
        generator_("generator", std::move(generator), options.update),
        discriminator_("discriminator", std::move(discriminator),
                       options.update),
        d_criterion_(std::move(d_criterion)),
        g_criterion_(std::move(g_criterion)) {}

  HookPoint<GanContext> on_epoch_start;
  HookPoint<GanContext> on_pre_step;
  HookPoint<GanContext> on_pre_d_forward;
  HookPoint<GanContext> on_post_d_forward;
  HookPoint<GanContext> on_post_d_backward;
  HookPoint<GanContext> on_before_d_step;
  HookPoint<GanContext> on_after_d_step;
  HookPoint<GanContext> on_pre_g_forward;
  HookPoint<GanContext> on_post_g_forward;
  HookPoint<GanContext> on_post_g_backward;
  HookPoint<GanContext> on_before_g_step;
  HookPoint<GanContext> on_after_g_step;
  HookPoint<GanContext> on_post_step;
  HookPoint<GanContext> on_step_metrics;
  HookPoint<GanContext> on_epoch_end;

  bool RunEpoch(EpochRun& run) override;
  std::vector<std::pair<std::string, std::shared_ptr<Optimizer>>> Optimizers()
      const override {
    return {{"generator", generator_.shared_optimizer()},
            {"discriminator", discriminator_.shared_optimizer()}};
  }
  void CheckModel(Model& model) const override;
  bool needs_criterion() const override { return false; }
  int64_t num_skipped_steps() const override {
    return generator_.faults().total + discriminator_.faults().total;
  }
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

 protected:
  void BindHook(Hook& hook) override { hook.AttachToGan(*this); }

 private:
  void TrainDiscriminator(EpochRun& run, GanContext& context);
  void TrainGenerator(EpochRun& run, GanContext& context);
  // From the backward pass to new weights.
  static void Step(Update& update, HookPoint<GanContext>& before,
                   HookPoint<GanContext>& after, GanContext& context);

  const Precision precision_;
  const Postprocessors postprocessors_;
  Update generator_;
  Update discriminator_;
  Criterion d_criterion_;
  Criterion g_criterion_;
  // Steps of the running epoch; see GanContext.
  int64_t d_steps_ = 0;
  int64_t g_steps_ = 0;
};

}  // namespace epochd::engine
