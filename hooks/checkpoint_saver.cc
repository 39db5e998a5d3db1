// SPDX-License-Identifier: Apache-2.0
#include "hooks/checkpoint_saver.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::hooks {
namespace {

using Clock = std::chrono::steady_clock;

std::string FolderName(const engine::Position& position) {
  char name[96];
  if (position.batch == 0) {
    std::snprintf(name, sizeof(name), "epoch-%04lld-step-%06lld",
                  static_cast<long long>(position.epoch),
                  static_cast<long long>(position.step));
  } else {
    std::snprintf(name, sizeof(name), "epoch-%04lld-batch-%05lld-step-%06lld",
                  static_cast<long long>(position.epoch + 1),
                  static_cast<long long>(position.batch),
                  static_cast<long long>(position.step));
  }
  return name;
}

}  // namespace

void CheckpointSaver::AttachToTrainer(engine::Trainer& trainer) {
  if (trainer.environment().output_dir.empty()) return;
  trainer_ = &trainer;
  trainer.on_training_began.Bind(
      [this](engine::TrainerContext&) { last_save_ = Clock::now(); });
  trainer.on_step_boundary.Bind(
      [this](engine::TrainerContext& context) { AtStep(context); });
  trainer.on_epoch_committed.Bind(
      [this](engine::TrainerContext& context) { AtEpoch(context); });
  trainer.on_training_ended.Bind([this](engine::TrainerContext& context) {
    Save(context, /*after_epoch=*/false);
    RemoveOld();
  });
}

void CheckpointSaver::AtStep(engine::TrainerContext& context) {
  const int64_t step = trainer_->position().step;
  if (options_.every_seconds && trainer_->is_main_rank() &&
      std::chrono::duration<double>(Clock::now() - last_save_).count() >=
          *options_.every_seconds) {
    // Ranks save together, at a step that all agree on.
    trainer_->WishForCheckpoint();
    last_save_ = Clock::now();
  }
  if (context.ending || trainer_->checkpoint_wanted() ||
      (options_.every_steps && step % *options_.every_steps == 0)) {
    Save(context, /*after_epoch=*/false);
  }
}

void CheckpointSaver::AtEpoch(engine::TrainerContext& context) {
  const int64_t done = trainer_->position().epoch;
  const bool is_due =
      options_.every_epochs && done % *options_.every_epochs == 0;
  const bool is_best = context.is_best && options_.keep_best > 0;
  if (is_due || is_best || context.ending || trainer_->checkpoint_wanted()) {
    Save(context, /*after_epoch=*/true);
  }
  RemoveOld();
}

void CheckpointSaver::Save(const engine::TrainerContext& context,
                           bool after_epoch) {
  const engine::Position& position = trainer_->position();
  const std::string path = trainer_->environment().output_dir +
                           "/checkpoints/" + FolderName(position);
  if (path == newest_) return;
  const engine::Snapshot snapshot = trainer_->TakeSnapshot();
  newest_ = path;
  last_save_ = Clock::now();
  if (!trainer_->is_main_rank()) return;
  engine::SavedCheckpoint written;
  try {
    written = engine::WriteCheckpoint(path, snapshot);
  } catch (const engine::Error& error) {
    trainer_->events().Notice(
        "warning", std::string("a checkpoint was not saved, the training goes "
                               "on: ") +
                       error.what());
    return;
  }
  engine::Json metrics = engine::Json::object();
  if (after_epoch) {
    for (const auto& [name, value] : context.scores) {
      metrics[name] = engine::FromNumber(value);
    }
  }
  Saved saved{.path = path};
  if (after_epoch && context.monitored) saved.monitored = *context.monitored;
  saved.event = trainer_->events().Emit(
      "checkpoint_saved",
      {{"path", path},
       {"epoch", after_epoch ? position.epoch : position.epoch + 1},
       {"step", position.step},
       {"batch", position.batch},
       {"best", after_epoch && context.is_best},
       {"bytes", written.bytes},
       {"manifest_sha256", written.manifest_sha256},
       {"metrics", metrics},
       {"world_size", trainer_->environment().communicator->world_size()}});
  saved_.push_back(std::move(saved));
  RemoveOld();
}

bool CheckpointSaver::IsKept(size_t index) const {
  const auto count = static_cast<int64_t>(saved_.size());
  const int64_t keep_last = std::max<int64_t>(options_.keep_last, 1);
  if (static_cast<int64_t>(index) >= count - keep_last) return true;
  const double own = saved_[index].monitored;
  if (std::isnan(own)) return false;
  // Counts those that are better; among equals the older one is kept.
  int64_t better = 0;
  for (size_t i = 0; i < saved_.size(); ++i) {
    const double other = saved_[i].monitored;
    if (i == index || std::isnan(other)) continue;
    if (trainer_->monitor().IsBetter(other, own) ||
        (other == own && i < index)) {
      ++better;
    }
  }
  return better < options_.keep_best;
}

void CheckpointSaver::RemoveOld() {
  bool newer_is_recorded = false;
  for (size_t i = saved_.size(); i-- > 0;) {
    if (IsKept(i)) {
      newer_is_recorded |= trainer_->events().IsRecorded(saved_[i].event);
      continue;
    }
    if (!newer_is_recorded) continue;
    std::error_code error;
    std::filesystem::remove_all(saved_[i].path, error);
    if (error) continue;
    trainer_->events().Emit("checkpoint_removed", {{"path", saved_[i].path}});
    saved_.erase(saved_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

engine::Entry<engine::Hook> CheckpointSaverEntry() {
  return {{.kind = "hook",
           .name = "CheckpointSaver",
           .aliases = {"PyTorchModelSaver"},
           .help = "saves checkpoints; stands in for the job's `checkpoints`",
           .parameters = {{.name = "every",
                           .type = "every",
                           .default_value = "1 epoch",
                           .help = "n epochs, n steps or a duration"},
                          {.name = "keep_last",
                           .type = "int",
                           .default_value = 3,
                           .min = 1,
                           .help = "newest ones that are kept"},
                          {.name = "keep_best",
                           .type = "int",
                           .default_value = 1,
                           .min = 0,
                           .help = "best ones that are kept beside them"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            const std::string text = params.String("every");
            const auto every = catalogue::ParseEvery(text);
            if (!every) params.Fail("every", "\"" + text + "\"");
            return std::make_shared<CheckpointSaver>(
                CheckpointSaver::Options{.every_epochs = every->epochs,
                                         .every_steps = every->steps,
                                         .every_seconds = every->seconds,
                                         .keep_last = params.Int("keep_last"),
                                         .keep_best = params.Int("keep_best")});
          }};
}

}  // namespace epochd::hooks
