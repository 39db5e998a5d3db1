// SPDX-License-Identifier: Apache-2.0
//
// EarlyStopping: ends a training when a score stalls, by the rule of one of
// the systems (stop_rule.h). It looks where the score was measured: at ends of
// epochs with a validation, or at every n-th step at the step's own loss.
// Epochs without a new value are passed over.
#pragma once

#include <optional>
#include <string>

#include "hooks/stop_rule.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class EarlyStopping : public engine::Hook {
 public:
  struct Options {
    StopRule::Options rule = {};
    // Empty: the experiment's monitored score, and its direction.
    std::string metric = {};
    // Looks at the training loss every n steps; else at ends of epochs.
    std::optional<int64_t> every_steps = {};
    // Not before so many epochs are done.
    int64_t min_epochs = 0;
    // A score that is not measured is an error; else a warning, once.
    bool strict = false;
  };
  explicit EarlyStopping(Options options)
      : options_(std::move(options)), rule_(options_.rule) {}

  const char* name() const override { return "EarlyStopping"; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;
  nlohmann::ordered_json State() const override { return rule_.State(); }
  void LoadState(const nlohmann::ordered_json& state) override {
    rule_.LoadState(state);
  }

  const StopRule& rule() const { return rule_; }

 private:
  void AfterEpoch(engine::TrainerContext& context);
  // The score that is looked at; nothing: it was not measured.
  std::optional<double> Value(const engine::TrainerContext& context);

  const Options options_;
  StopRule rule_;
  bool warned_ = false;
};

engine::Entry<engine::Hook> EarlyStoppingEntry();

}  // namespace epochd::hooks
