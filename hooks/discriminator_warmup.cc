// SPDX-License-Identifier: Apache-2.0
#include "hooks/discriminator_warmup.h"

#include "worker/engine/loop/gan_training_runner.h"

namespace epochd::hooks {

void DiscriminatorWarmup::AttachToGan(engine::GanTrainingRunner& runner) {
  runner.on_pre_step.Bind([batches = batches_](engine::GanContext& context) {
    if (context.global_batch < batches) context.warming_up = true;
  });
}

engine::Entry<engine::Hook> DiscriminatorWarmupEntry() {
  return {{.kind = "hook",
           .name = "DiscriminatorWarmup",
           .aliases = {"DWarmup"},
           .help = "trains the discriminator alone at first",
           .parameters = {{.name = "batches",
                           .type = "int",
                           .default_value = 500,
                           .min = 0,
                           .help = "batches, over all epochs"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<DiscriminatorWarmup>(params.Int("batches"));
          }};
}

}  // namespace epochd::hooks
