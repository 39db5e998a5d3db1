// SPDX-License-Identifier: Apache-2.0
//
// EarlyStopping: ends a training when a score stalls, by the rule of one of
// the systems (stop_rule.h). It looks where the score was measured: at ends of
// epochs with a validation, or at every n-th step at the step's own loss, its
// mean over ranks. Epochs without a new value are passed over.
//
// With restore_best the model has, when the training ended, the weights and
// buffers that it had at the best value, and so has the last checkpoint. Until
// then they are kept on the host, and in checkpoints.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hooks/stop_rule.h"
#include "worker/engine/dist/communicator.h"
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
    // Looks at a loss of the training every n steps, train/loss or, of a GAN,
    // train/g_loss and train/d_loss; else at ends of epochs.
    std::optional<int64_t> every_steps = {};
    // Not before so many epochs are done.
    int64_t min_epochs = 0;
    // A score that is not measured is an error; else a warning, once.
    bool strict = false;
    // Weights of the best epoch at the end; by epochs only.
    bool restore_best = false;
  };
  explicit EarlyStopping(Options options)
      : options_(std::move(options)), rule_(options_.rule) {}

  const char* name() const override { return "EarlyStopping"; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;
  void Setup(engine::Trainer& trainer) override;
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

  const StopRule& rule() const { return rule_; }

 private:
  void AfterEpoch(engine::TrainerContext& context);
  // Throws unless `metric`, or nothing, is asked for of the steps.
  void CheckStepMetric(std::initializer_list<const char*> known) const;
  // `loss`: of this rank; nullptr: there is none.
  void AfterStep(engine::RunnerContext& context, const at::Tensor* loss,
                 const std::string& name);
  // The score that is looked at; nothing: it was not measured.
  std::optional<double> Value(const engine::TrainerContext& context);
  const std::string& MetricName(const engine::Trainer& trainer) const;
  void AttachRestoring(engine::Trainer& trainer);
  // Keeps the weights when the value is the best so far.
  void KeepBest(const engine::TrainerContext& context, double value);
  // Once: gives the model the best weights, and the context their scores.
  void RestoreBest(engine::TrainerContext& context);

  const Options options_;
  StopRule rule_;
  engine::Communicator* communicator_ = nullptr;
  bool warned_ = false;

  // Of the best value; empty weights: there was none, or they are restored.
  struct Best {
    double value = std::numeric_limits<double>::quiet_NaN();
    int64_t epoch = -1;
    engine::Scores scores{};
    std::vector<engine::NamedTensor> weights{};
  };
  Best best_;
};

engine::Entry<engine::Hook> EarlyStoppingEntry();
// By MMEngine's names, and its rule.
engine::Entry<engine::Hook> EarlyStoppingHookEntry();

}  // namespace epochd::hooks
