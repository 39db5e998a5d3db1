// SPDX-License-Identifier: Apache-2.0
//
// SharpnessRunner: sharpness-aware minimization (Foret et al., "Sharpness-
// Aware Minimization for Efficiently Improving Generalization", ICLR 2021,
// algorithm 1). Each step climbs from w to w + rho g / |g|, takes the gradient
// there, returns to w and steps by it. On one device. Points, in order:
//
//   on_epoch_start, on_pre_step
//     on_ascent          the loss where the weights climbed to is known
//   on_post_step, on_epoch_end
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/hook/hook_point.h"
#include "worker/engine/loop/epoch_runner.h"

namespace sharpness {

namespace engine = epochd::engine;

struct SharpnessContext : engine::RunnerContext {
  // Norm of the gradient at w. Scalar, on the device.
  at::Tensor gradient_norm{};
  // Loss at w + rho g / |g|; the context's `loss` is that at w.
  at::Tensor raised_loss{};
};

class SharpnessRunner : public engine::EpochRunner {
 public:
  SharpnessRunner(std::shared_ptr<engine::Optimizer> optimizer, double rho)
      : optimizer_(std::move(optimizer)), rho_(rho) {}

  engine::HookPoint<SharpnessContext> on_epoch_start;
  engine::HookPoint<SharpnessContext> on_pre_step;
  engine::HookPoint<SharpnessContext> on_ascent;
  engine::HookPoint<SharpnessContext> on_post_step;
  engine::HookPoint<SharpnessContext> on_epoch_end;

  bool RunEpoch(engine::EpochRun& run) override;
  std::vector<std::pair<std::string, std::shared_ptr<engine::Optimizer>>>
  Optimizers() const override {
    return {{"optimizer", optimizer_}};
  }
  void CheckModel(engine::Model&) const override {}
  bool needs_criterion() const override { return true; }

 protected:
  void BindHook(engine::Hook& hook) override;

 private:
  void Step(engine::EpochRun& run, SharpnessContext& context);

  const std::shared_ptr<engine::Optimizer> optimizer_;
  const double rho_;
};

// What a hook implements beside engine::Hook to bind to this runner.
class SharpnessHook {
 public:
  virtual ~SharpnessHook() = default;
  virtual void AttachToSharpness(SharpnessRunner& runner) = 0;
};

}  // namespace sharpness
