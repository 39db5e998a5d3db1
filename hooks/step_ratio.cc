// SPDX-License-Identifier: Apache-2.0
#include "hooks/step_ratio.h"

#include <algorithm>

#include "worker/engine/loop/gan_training_runner.h"

namespace epochd::hooks {

void StepRatio::AttachToGan(engine::GanTrainingRunner& runner) {
  runner.on_pre_step.Bind([ratio = ratio_](engine::GanContext& context) {
    if (context.is_last) return;
    if (context.d_steps == 0 && context.g_steps == 0) return;
    const double current =
        static_cast<double>(context.g_steps) /
        static_cast<double>(std::max<int64_t>(context.d_steps, 1));
    // What other hooks let rest stays at rest.
    context.run_d &= current >= ratio;
    context.run_g &= current <= ratio;
  });
}

engine::Entry<engine::Hook> StepRatioEntry() {
  return {{.kind = "hook",
           .name = "StepRatio",
           .help = "balances generator and discriminator steps",
           .parameters = {{.name = "ratio",
                           .type = "float",
                           .default_value = 1.0,
                           .min = 0,
                           .exclusive_min = true,
                           .help = "generator steps for each discriminator "
                                   "step"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<StepRatio>(params.Float("ratio"));
          }};
}

}  // namespace epochd::hooks
