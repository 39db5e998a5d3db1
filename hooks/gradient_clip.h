// SPDX-License-Identifier: Apache-2.0
//
// GradientClip: scales gradients down when their L2 norm over all parameters
// exceeds max_norm, as torch's clip_grad_norm_ does. In GAN training each side
// is clipped after its own backward pass. `target` picks a side: all, D or G.
#pragma once

#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class GradientClip : public engine::Hook {
 public:
  enum class Target { kAll, kDiscriminator, kGenerator };
  GradientClip(double max_norm, Target target)
      : max_norm_(max_norm), target_(target) {}

  const char* name() const override { return "GradientClip"; }
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  const double max_norm_;
  const Target target_;
};

engine::Entry<engine::Hook> GradientClipEntry();

}  // namespace epochd::hooks
