// SPDX-License-Identifier: Apache-2.0
//
// GradientClip: scales gradients down when their norm over all parameters
// exceeds max_norm, as torch's clip_grad_norm_ does (any p-norm, infinity
// too), or limits each element to [-value, value]. Gradients have their true
// size by then, also with fp16. In GAN training each side is clipped after its
// own backward pass; `target` picks a side: all, D or G. LBFGS has the
// gradients of each of its evaluations clipped.
//
// The norm before clipping is a metric: grad_norm, in GAN training grad_norm_d
// and grad_norm_g. What is not finite stays so, and the optimizer's step is
// then refused where that is looked for (Update::NonFinite).
#pragma once

#include <optional>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class GradientClip : public engine::Hook {
 public:
  enum class Target { kAll, kDiscriminator, kGenerator };
  struct Options {
    // One of the two.
    std::optional<double> max_norm = {};
    std::optional<double> max_value = {};
    double norm_type = 2;  // infinity: the largest element
    Target target = Target::kAll;
  };
  explicit GradientClip(Options options) : options_(options) {}

  const char* name() const override { return "GradientClip"; }
  bool may_stop() const override { return false; }
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  void Clip(engine::RunnerContext& context, engine::Update& update,
            const char* metric) const;

  const Options options_;
};

engine::Entry<engine::Hook> GradientClipEntry();

}  // namespace epochd::hooks
