// SPDX-License-Identifier: Apache-2.0
//
// CheckpointSaver: saves a run by a policy, when it is asked to, when an epoch
// is the best so far, and at the end. Training stalls only while its state is
// copied; the files are written beside it, one checkpoint at a time, and told
// of (`checkpoint_saved`) once they are on the disk. Folders:
//
//   <output>/checkpoints/epoch-0003-step-000123             after epoch 3
//   <output>/checkpoints/epoch-0004-batch-00012-step-000135 within epoch 4
//   <output>/checkpoints/last, best                         links to them
//
// `best` is there only where this run has the best: one that goes on from
// another job's checkpoint has none until it is better.
//
// What the policy does not keep is removed, also of earlier attempts of the
// job, but never before a newer one is recorded by whoever listens to events,
// and never the one that this run went on from. Only what was measured can be
// the best: a save between validations has no score.
//
// A failed save is told, all older ones stay, and the training goes on, until
// `give_up_after` saves in a row failed. The last save of a run is tried three
// times; when it fails the run ends with Error(kInfrastructure) on all ranks:
// neither "done" nor "stopped with a checkpoint" would be true.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "worker/engine/checkpoint/checkpoint_writer.h"
#include "worker/engine/checkpoint/retention.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/hook/event_sink.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/loop/monitor.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class CheckpointSaver : public engine::Hook {
 public:
  struct Options {
    // One of these, or none: only at the end and by request.
    std::optional<int64_t> every_epochs = 1;
    std::optional<int64_t> every_steps = {};
    std::optional<double> every_seconds = {};
    // Counted in epochs or steps as `every` is: none is saved before.
    int64_t begin = 0;
    int64_t keep_last = 3;  // 1 or more; -1: all
    int64_t keep_best = 1;  // -1: all
    // Score that the best are chosen by; empty: the experiment's monitor.
    std::string monitor = {};
    bool higher_is_better = false;  // where `monitor` is given
    // At the end of a training that is done. One that is stopped is always
    // saved.
    bool save_last = true;
    // When the loop throws; one rank only. Holds the last completed step.
    bool save_on_exception = false;
    bool asynchronous = true;
    int64_t give_up_after = 5;  // 0: never
    // Waited before the second and the third try of the last save.
    std::chrono::milliseconds retry_wait{1000};
    // Longest wait, after a training that is done, for the record of the last
    // save, without which what it makes superfluous may not go.
    std::chrono::milliseconds settle{2000};
  };
  explicit CheckpointSaver(Options options) : options_(std::move(options)) {}

  const char* name() const override { return "CheckpointSaver"; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToValidation(engine::ValidationRunner& runner) override;
  // Saves where that is wanted.
  void OnException(engine::TrainerContext& context,
                   const std::exception& cause) override;
  // Waits for what is being written.
  void Finalize(engine::TrainerContext& context,
                engine::RunResult result) override;
  // {"monitor": what is best so far, "path": of the checkpoint it stands in}.
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

 private:
  // What is told once it is on the disk.
  struct Pending {
    engine::Json event;
    engine::Retention::Item item;
  };
  void Begin();
  void AtStep(engine::TrainerContext& context);
  void AtEpoch(engine::TrainerContext& context);
  void AtEnd(engine::TrainerContext& context);
  bool IsDue(std::optional<int64_t> every, int64_t done) const;
  // Compares the scores of a validation; every rank comes to the same.
  void Judge(const engine::TrainerContext& context);
  std::optional<double> ScoreOf(const engine::TrainerContext& context) const;
  // Starts a save; collective. `has_scores`: the context's are of what is
  // saved.
  void Save(const engine::TrainerContext& context, bool has_scores,
            bool is_last = false);
  // The same, and does not return before it is on the disk. Throws on every
  // rank when it is not.
  void SaveLast(const engine::TrainerContext& context, bool has_scores);
  // Looks whether the write under way is done.
  void Collect(std::optional<engine::CheckpointWriter::Result> result);
  void Committed(const engine::SavedCheckpoint& saved);
  // Whether the best of this run is also the best of those before it, which
  // may be another job's.
  bool IsBestOfAll(const std::string& path) const;
  void Failed(const std::string& problem);
  void RemoveOld();

  const Options options_;
  engine::Trainer* trainer_ = nullptr;
  std::string folder_;  // <output>/checkpoints
  std::string newest_;  // path of the newest snapshot taken, on all ranks
  bool may_have_news_ = false;
  std::chrono::steady_clock::time_point last_save_;
  engine::Monitor monitor_;  // own, or as the experiment's
  // When this run began; NaN: there was none.
  double earlier_best_ = std::numeric_limits<double>::quiet_NaN();
  bool is_best_ = false;  // what was judged last
  std::optional<double> score_;
  int64_t judged_at_ = -1;  // step
  int64_t seen_step_ = -1;

  // On rank 0 alone.
  std::optional<engine::Retention> retention_;
  std::optional<Pending> pending_;
  int64_t failures_ = 0;  // in a row
  bool removal_waits_ = false;
  std::unique_ptr<engine::CheckpointWriter> writer_;
};

engine::Entry<engine::Hook> CheckpointSaverEntry();

}  // namespace epochd::hooks
