// SPDX-License-Identifier: Apache-2.0
//
// Trainer: the loop of a run. Owns criteria, schedulers and hooks; leaves the
// passes to its runners. How long it is and when it validates is its plan
// (loop/plan.h): by epochs or by batches, the rest is the same. An epoch is
// always a pass over the loader. For each:
//
//   on_epoch_started
//   training pass
//   on_validation_began, validation pass, on_validation_finished
//   on_epoch_finished     all scores are there, reduced over ranks: loggers
//   schedulers step       those by epoch; others do after each batch
//   on_stop_check         stop conditions
//   on_epoch_committed    the position is the next epoch's: checkpoints
//
// around it on_training_began and on_training_ended; on_step_boundary after
// optimizer steps, where all can be saved. What a checkpoint holds is taken
// after the schedulers' step, so a run that goes on has the right rate.
//
// A validation within an epoch takes place after a batch: on_validation_began,
// on_validation_finished, schedulers with a metric step, on_stop_check, and the
// next on_step_boundary can save what was the best. A run that a limit or a
// hook ends within an epoch closes with the scores so far (on_epoch_finished,
// on_stop_check, which stops nothing any more, not on_epoch_committed), and no
// scheduler steps for that epoch.
//
// Ranks end together: after the step at which one of them has a hook that wants
// to stop, or the validation after which one does; a request from outside and
// max_time come true some steps later.
//
// Hooks are set up by Start() or Restore(). When Run() ends they are told of
// an exception or an interruption, then of the result, and are torn down;
// those that were not set up are not (see hook/hook.h). on_training_ended is
// for a run that came to its end.
//
// Run() is called once, by the training thread. RequestStop(),
// RequestInterrupt() and RequestCheckpoint() may be called from any thread and
// from signal handlers.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/dist/agreement.h"
#include "worker/engine/dist/communicator.h"
#include "worker/engine/hook/event_sink.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/hook/hook_point.h"
#include "worker/engine/hook/message_hub.h"
#include "worker/engine/loop/epoch_runner.h"
#include "worker/engine/loop/monitor.h"
#include "worker/engine/loop/plan.h"
#include "worker/engine/loop/prediction_runner.h"
#include "worker/engine/loop/regrouping.h"
#include "worker/engine/loop/schedules.h"
#include "worker/engine/loop/validation_runner.h"

namespace epochd::engine {

// What a run finds around it.
struct RunEnvironment {
  Communicator* communicator = nullptr;  // outlives the trainer
  EventSink* events = nullptr;           // outlives the trainer
  // Folder for checkpoints, metrics and outputs; empty: nothing is written.
  std::string output_dir;
  c10::Device device = c10::Device(c10::kCPU);
  // Checkpoints of earlier attempts of the job, oldest first.
  std::vector<std::string> earlier_checkpoints{};
};

// How saved weights fit a model.
struct LoadReport {
  int64_t loaded = 0;                     // tensors that were copied
  std::vector<std::string> missing{};     // the model's, not saved
  std::vector<std::string> unexpected{};  // saved, not the model's
  std::vector<std::string> misshapen{};   // sentences
  bool fits() const {
    return missing.empty() && unexpected.empty() && misshapen.empty();
  }
  std::string Text() const;
};

// Copies weights and buffers by name. Throws Error(kBadSpec) naming all that
// does not fit, or when nothing fits; the model is then unchanged. Not strict:
// takes what fits; `strict_key` is the field that says so.
LoadReport LoadModel(Model& model, const std::vector<NamedTensor>& saved,
                     bool strict = true,
                     std::string_view strict_key = "experiment.load_strict");

class Trainer : public StepControl {
 public:
  struct Parts {
    std::shared_ptr<Model> model;
    std::shared_ptr<EpochRunner> training_runner;
    std::shared_ptr<ValidationRunner> validation_runner;
    // nullptr: one with the defaults.
    std::shared_ptr<PredictionRunner> prediction_runner{};
    std::unique_ptr<BatchSource> train;
    std::unique_ptr<BatchSource> val;  // nullptr: no validation
    std::unique_ptr<BatchSource> predict{};
    // nullptr: none.
    std::shared_ptr<const Preprocessor> preprocessor{};
    Criterion criterion;
    Criterion val_criterion;
    std::vector<std::shared_ptr<Metric>> metrics;
    Schedules schedules;
    Monitor monitor;
    LoopPlan plan{.max_epochs = 1};
    // Of losses over an epoch.
    Meter::Weighting loss_mean = Meter::Weighting::kSamples;
    uint64_t seed = 0;
    SyncOptions sync{};
    // A checkpoint must fit in all; else what does not fit starts anew.
    bool load_strict = true;
  };
  enum class Outcome {
    kCompleted,    // all epochs, or a stop condition
    kStopped,      // on request; can go on another time
    kInterrupted,  // the same, asked for by RequestInterrupt()
  };

  Trainer(Parts parts, RunEnvironment environment);
  ~Trainer() override;

  HookPoint<TrainerContext> on_training_began;
  HookPoint<TrainerContext> on_epoch_started;
  HookPoint<TrainerContext> on_validation_began;
  HookPoint<TrainerContext> on_validation_finished;
  HookPoint<TrainerContext> on_epoch_finished;
  HookPoint<TrainerContext> on_stop_check;
  HookPoint<TrainerContext> on_epoch_committed;
  HookPoint<TrainerContext> on_step_boundary;
  HookPoint<TrainerContext> on_training_ended;
  // A snapshot was taken and not written yet; one was read and not used yet.
  HookPoint<SnapshotContext> on_before_save;
  HookPoint<SnapshotContext> on_after_load;
  // Around Evaluate(); the second with all scores.
  HookPoint<TrainerContext> on_evaluation_began;
  HookPoint<TrainerContext> on_evaluation_ended;
  // Around a prediction; the second with what was joined.
  HookPoint<PredictionContext> on_prediction_began;
  HookPoint<PredictionContext> on_prediction_ended;

  // Attaches to the trainer and to the runners in the hook's scope.
  void AddHook(const std::shared_ptr<Hook>& hook);
  // A hook of one runner's own list: attaches to the trainer and to the runner
  // of that pass, "train", "val" or "predict". Called again for another pass
  // it attaches to that one too.
  void AddHook(const std::shared_ptr<Hook>& hook, std::string_view pass);

  // Prepares for a start from nothing: rank 0's weights everywhere, generators
  // seeded, first learning rates.
  void Start();
  // Instead of Start(): goes on from a snapshot, also one of another number of
  // ranks (loop/regrouping.h). Throws Error(kBadSpec) naming all that does not
  // fit; the trainer must then not be used.
  void Restore(const Snapshot& snapshot);
  // Trains to the end. Called after Start() or Restore(). Throws
  // Error(kBadSpec) where there is no data to train on.
  Outcome Run();
  // Measures the model on the validation data instead; `prefix`: of names, and
  // the phase. With "benchmark" the pass is timed too. Empty: it left early, or
  // there is nothing to measure by.
  Scores Evaluate(const std::string& prefix);
  // Predicts instead. Nothing: there is no data to predict, and no hook was
  // called; or it left early. Throws Error(kBadSpec) for data without a batch.
  std::optional<PredictionRunner::Result> Predict();

  void RequestStop() { stop_requested_ = true; }
  // As RequestStop(), but Run() says kInterrupted.
  void RequestInterrupt() { interrupt_requested_ = stop_requested_ = true; }
  // All ranks save at the next boundary that they agree on.
  void RequestCheckpoint() { checkpoint_requested_ = true; }

  // All that a run needs to go on from here. Collective: every rank calls it
  // at the same step; complete on rank 0.
  Snapshot TakeSnapshot();

  Verdict AfterBatch(const BatchEnd& end) override;
  bool ShouldLeave() const override;

  // For hooks.
  Model& model() { return *parts_.model; }
  const Position& position() const { return position_; }
  const Monitor& monitor() const { return parts_.monitor; }
  const RunEnvironment& environment() const { return environment_; }
  EventSink& events() { return *environment_.events; }
  // Numbers that hooks tell each other.
  MessageHub& messages() { return messages_; }
  uint64_t seed() const { return parts_.seed; }
  EpochRunner& training_runner() { return *parts_.training_runner; }
  // Makes the model's buffers alike on all ranks, as ddp.buffers says; where
  // all ranks are, such as the start of a validation.
  void SyncBuffers() { sync_->SyncBuffers(); }
  ValidationRunner& validation_runner() { return *parts_.validation_runner; }
  PredictionRunner& prediction_runner() { return *parts_.prediction_runner; }
  // False: it measures or predicts instead, and there is no train().
  bool trains() const { return parts_.train != nullptr; }
  const BatchSource& train() const { return *parts_.train; }
  const BatchSource* val() const { return parts_.val.get(); }
  const BatchSource* predict() const { return parts_.predict.get(); }
  const LoopPlan& plan() const { return parts_.plan; }
  // Epochs of the whole run; below 0: not known.
  int64_t epochs() const;
  // Batches of the whole run; below 0: not known.
  int64_t total_batches() const { return total_batches_; }
  // How many are left of them, also by max_steps; and what is left of max_time.
  std::optional<int64_t> BatchesLeft() const;
  std::optional<double> SecondsLeft() const;
  // The checkpoint that this run went on from; empty: it began anew.
  const std::string& resumed_from() const { return resumed_from_; }
  // It ends because it was asked to stop, and can go on another time.
  bool is_stopping() const { return is_stopping_; }
  bool is_main_rank() const { return environment_.communicator->rank() == 0; }
  // A checkpoint is wanted at this boundary by request, on all ranks.
  bool checkpoint_wanted() const { return checkpoint_agreed_; }
  // Files and folders that people may want to look at, by name.
  void AddOutput(const std::string& name, const std::string& path) {
    outputs_.emplace_back(name, path);
  }
  const std::vector<std::pair<std::string, std::string>>& outputs() const {
    return outputs_;
  }
  // The first hook of this name that is attached; nullptr: none is.
  std::shared_ptr<Hook> FindHook(std::string_view name) const;
  bool HasHook(std::string_view name) const {
    return FindHook(name) != nullptr;
  }
  // Why it ended before all epochs were done; empty: it did not.
  const std::string& stop_reason() const { return stop_reason_; }

 private:
  struct NamedHook {
    std::string name;
    std::shared_ptr<Hook> hook;
    std::vector<std::string> passes{};  // whose runners it is attached to
  };
  // Runs `work`; when it throws, hooks are told and torn down first.
  void Guard(const std::function<void()>& work);
  NamedHook& AttachToSelf(const std::shared_ptr<Hook>& hook);
  void SetUpHooks();
  // Tells hooks that were set up how it ended, and tears them down.
  void EndHooks(RunResult result, const std::exception* cause);
  void Begin();
  void GoOnFrom(const Snapshot& snapshot);
  Outcome RunLoop();
  void Check() const;
  RunLength PlannedLength() const;
  // Optimizer steps of so many batches, counted from the start of an epoch;
  // the last group, which may not be full, counts if it is `closed`.
  int64_t StepsOf(int64_t batches, bool closed) const;
  // Batches with which so many steps are done, counted alike.
  int64_t BatchesOf(int64_t steps) const;
  // How long the run is meant to be, for checkpoints: a run that is made longer
  // has other schedules.
  nlohmann::ordered_json Planned() const;
  // Where the run of a checkpoint stands in this run's length; nothing: it had
  // the same, and epochs of the same batches. What the run's end counts in goes
  // on as it is, the rest follows from that.
  std::optional<Passed> PassedOf(const nlohmann::ordered_json& json) const;
  EpochRun TrainingRun();
  EpochRun ValidationRun(const std::string& phase);
  void PrepareSync(const nlohmann::ordered_json& state);
  void SanityCheck();
  // Throws when an epoch had no batch and nothing but batches ends the run.
  void CheckProgress() const;
  // What the ranks trained in this pass, each second of its training.
  double TrainingRate() const;
  // What speaks against values of metrics, once.
  void TellDoubts();
  // Throws when the last epoch's loss is not finite: such a run did not
  // succeed.
  void CheckLoss() const;
  // The same for weights, as hooks left them in the end. Waits for the device.
  void CheckWeights() const;
  // True: to the end of the epoch, or as far as a limit lets it.
  bool Train();
  // Adds the scores to the context's. False: it left early.
  bool Validate(const std::string& phase);
  // A validation that is due after a batch. False: it left early.
  bool ValidateWithin();
  // Throws when two scores have one name.
  void CheckScores() const;
  // After a batch with which no gradients wait: the ranks agree on what is to
  // be done, and hooks may save.
  Verdict AtStepBoundary();
  bool MayAnyRankStop() const;
  // Why the run ends, as the first rank tells that knows.
  void ShareStopReason();
  bool IsValidationDue() const;
  bool IsAtLimit() const;
  bool IsTimeOver();
  // Finds the monitored score and whether it is the best.
  void Judge(bool must_be_there);
  // True: one of them wants the run to end, and may have it.
  bool AskStopConditions();
  // Scores, hooks and schedulers of an epoch that is over, or of as much of it
  // as there was (`is_whole` false). False: it left early.
  bool CloseEpoch(bool is_whole);
  // Moves on to the next epoch. True: the run stops here on request.
  bool Commit();
  Outcome Leave();
  // Tells of samples of `part` that were left out, and adds their number over
  // all ranks to the scores; `before`: of earlier attempts.
  void TellSkipped(const std::string& part, const BatchSource& source);
  // The same of steps whose gradients were not finite.
  void TellSkippedSteps();
  // Makes one rank's predictions those of all.
  void JoinPredictions(PredictionRunner::Result& own) const;
  // Keeps a problem for Restore() to throw, or tells it when not strict.
  void DoesNotFit(const std::string& problem);
  // False: one of them starts anew.
  bool RestoreOptimizers(const Snapshot& snapshot);
  // Tells which settings of the experiment the checkpoint's stand in for.
  void TellOverridden(const std::string& optimizer,
                      const std::vector<Optimizer::Group>& own,
                      const std::vector<Optimizer::Group>& restored);
  // Tells when a run goes on from its very end.
  void TellNothingLeft();
  void RestoreHooks(const Snapshot& snapshot);
  // Position, meters, generators and, with `keeps_groups`, how gradients are
  // grouped.
  Grouping PresentGrouping() const;
  void RestorePosition(const Snapshot& snapshot, bool keeps_groups);
  // What is left of the plan's epochs, behind the batches done.
  void CountTotalBatches();
  // What each rank has of its own: a line of JSON, then tensors.
  std::string OwnState() const;
  static void AddOwnState(int rank, const std::string& own, Snapshot& snapshot);
  nlohmann::ordered_json StateJson() const;

  Parts parts_;
  const RunEnvironment environment_;
  // By priority, then in the order of adding.
  std::vector<NamedHook> hooks_;
  std::vector<std::shared_ptr<Hook>> set_up_;
  std::vector<std::pair<std::string, std::string>> outputs_;
  std::unique_ptr<GradientSync> sync_;
  Agreement agreement_;
  Position position_;
  Meter train_meter_;
  // Of the running epoch, what was measured before its last validation.
  Meter earlier_meter_;
  Meter val_meter_;
  TrainerContext context_;
  MessageHub messages_;
  // As global_batch counts, which goes on where the batches of epochs became
  // others; below 0: not known.
  int64_t total_batches_;
  bool is_finished_ = false;  // by a stop condition
  Verdict verdict_ = Verdict::kGoOn;
  // Batches done at the last validation.
  int64_t validated_at_ = -1;
  // Ranks ask each other at the next boundary; at each in this pass.
  bool asks_now_ = false;
  bool asks_at_steps_ = false;
  bool is_time_over_ = false;
  bool told_empty_ = false;   // that there is nothing to validate by
  bool told_doubts_ = false;  // of metrics, after the first validation
  bool told_nan_ = false;     // that the monitored metric is
  bool was_empty_ = false;    // the last validation
  int64_t told_skipped_steps_ = 0;
  bool is_stopping_ = false;
  std::string resumed_from_;
  std::vector<std::string> differences_;  // of the snapshot being restored
  bool checkpoint_agreed_ = false;
  std::string stop_reason_;
  std::atomic<bool> stop_requested_ = false;
  std::atomic<bool> interrupt_requested_ = false;
  std::atomic<bool> checkpoint_requested_ = false;
  std::atomic<bool> hook_stop_ = false;
  // Of the running epoch, for its rate; includes earlier attempts.
  std::chrono::steady_clock::time_point began_;
  double seconds_before_ = 0;
  // Of the running epoch, on this rank; also of earlier attempts.
  double data_wait_ = 0;
  // Of all passes before this one, also in earlier attempts.
  double training_seconds_ = 0;
  // Of this pass, and on this rank: samples trained, time, and what of it the
  // validations within took.
  int64_t pass_samples_ = 0;
  double pass_seconds_ = 0;
  double within_seconds_ = 0;
  bool is_in_pass_ = false;
};

}  // namespace epochd::engine
