// SPDX-License-Identifier: Apache-2.0
#include "hooks/builtin.h"

#include "hooks/batch_image_saver.h"
#include "hooks/checkpoint_saver.h"
#include "hooks/curve_saver.h"
#include "hooks/discriminator_warmup.h"
#include "hooks/early_stopping.h"
#include "hooks/edge_enhanced_input.h"
#include "hooks/environment_report.h"
#include "hooks/gradient_clip.h"
#include "hooks/learning_rate_monitor.h"
#include "hooks/metric_logger.h"
#include "hooks/model_summary.h"
#include "hooks/nan_guard.h"
#include "hooks/no_condition.h"
#include "hooks/prediction_writer.h"
#include "hooks/profiler.h"
#include "hooks/progress_reporter.h"
#include "hooks/r1_gradient_penalty.h"
#include "hooks/step_ratio.h"
#include "hooks/step_timer.h"
#include "hooks/weight_averaging.h"
#include "hooks/wgan_gradient_penalty.h"

namespace epochd::hooks {

std::vector<engine::Entry<engine::Hook>> BuiltinHooks() {
  return {BatchImageLoggerEntry(),
          BatchImageSaverEntry(),
          CheckpointSaverEntry(),
          CurveSaverEntry(),
          DiscriminatorWarmupEntry(),
          EarlyStoppingEntry(),
          EarlyStoppingHookEntry(),
          EdgeEnhancedInputEntry(),
          EmaEntry(),
          EnvironmentReportEntry(),
          GradientClipEntry(),
          LearningRateMonitorEntry(),
          MetricLoggerEntry(),
          ModelSummaryEntry(),
          NanGuardEntry(),
          NoConditionEntry(),
          PredictionWriterEntry(),
          ProfilerEntry(),
          ProgressReporterEntry(),
          R1GradientPenaltyEntry(),
          StepRatioEntry(),
          StepTimerEntry(),
          SwaEntry(),
          WganGradientPenaltyEntry()};
}

}  // namespace epochd::hooks
