// SPDX-License-Identifier: Apache-2.0
#include "hooks/builtin.h"

#include "hooks/batch_image_saver.h"
#include "hooks/checkpoint_saver.h"
#include "hooks/discriminator_warmup.h"
#include "hooks/early_stopping.h"
#include "hooks/gradient_clip.h"
#include "hooks/metric_logger.h"
#include "hooks/r1_gradient_penalty.h"
#include "hooks/step_ratio.h"

namespace epochd::hooks {

std::vector<engine::Entry<engine::Hook>> BuiltinHooks() {
  return {BatchImageSaverEntry(),     CheckpointSaverEntry(),
          DiscriminatorWarmupEntry(), EarlyStoppingEntry(),
          GradientClipEntry(),        MetricLoggerEntry(),
          R1GradientPenaltyEntry(),   StepRatioEntry()};
}

}  // namespace epochd::hooks
