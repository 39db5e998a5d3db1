// SPDX-License-Identifier: Apache-2.0
#include "hooks/early_stopping.h"

#include "worker/engine/core/number.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::hooks {

bool EarlyStopping::ShouldStop(double value, bool higher_is_better) {
  window_.push_back(value);
  if (static_cast<int64_t>(window_.size()) > patience_) window_.pop_front();
  if (static_cast<int64_t>(window_.size()) < patience_) return false;
  for (size_t i = 1; i < window_.size(); ++i) {
    const double gain = higher_is_better ? window_[i] - window_.front()
                                         : window_.front() - window_[i];
    if (gain > min_delta_) return false;
  }
  return true;
}

void EarlyStopping::AttachToTrainer(engine::Trainer& trainer) {
  trainer.on_stop_check.Bind([this](engine::TrainerContext& context) {
    if (!context.monitored) return;
    const engine::Monitor& monitor = context.trainer->monitor();
    if (!ShouldStop(*context.monitored, monitor.higher_is_better)) return;
    context.stop = true;
    context.stop_reason = monitor.metric + " did not improve within " +
                          std::to_string(patience_) + " epochs";
  });
}

nlohmann::ordered_json EarlyStopping::State() const {
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  for (double value : window_) values.push_back(engine::FromNumber(value));
  return {{"window", values}};
}

void EarlyStopping::LoadState(const nlohmann::ordered_json& state) {
  window_.clear();
  for (const auto& value : state.at("window")) {
    window_.push_back(engine::ToNumber(value));
  }
}

engine::Entry<engine::Hook> EarlyStoppingEntry() {
  return {{.kind = "hook",
           .name = "EarlyStopping",
           .aliases = {"ValidationLossDidNotImprove"},
           .help = "ends the training when the monitored score stalls",
           .parameters = {{.name = "rule",
                           .type = "string",
                           .default_value = "srforge",
                           .choices = {"srforge"},
                           .help = "srforge: compares within the last "
                                   "`patience` epochs"},
                          {.name = "patience",
                           .type = "int",
                           .required = true,
                           .min = 2,
                           .help = "epochs looked at"},
                          {.name = "min_delta",
                           .type = "float",
                           .default_value = 0.0,
                           .min = 0,
                           .help = "a gain must be larger than this"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<EarlyStopping>(params.Int("patience"),
                                                   params.Float("min_delta"));
          }};
}

}  // namespace epochd::hooks
