// SPDX-License-Identifier: Apache-2.0
#include "hooks/checkpoint_saver.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::hooks {
namespace {

using Clock = std::chrono::steady_clock;
using engine::CheckpointWriter;
using engine::Json;
using engine::TrainerContext;

constexpr int kTriesOfTheLast = 3;

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

// Those of an earlier attempt are not made to point elsewhere.
void RemoveLinksTo(const std::filesystem::path& removed) {
  for (const char* name : {"last", "best"}) {
    const std::filesystem::path link = removed.parent_path() / name;
    std::error_code ignored;
    if (std::filesystem::read_symlink(link, ignored) == removed.filename()) {
      std::filesystem::remove(link, ignored);
    }
  }
}

}  // namespace

void CheckpointSaver::AttachToTrainer(engine::Trainer& trainer) {
  if (trainer.HasHook(name())) {
    throw engine::Error(engine::ErrorKind::kBadSpec,
                        "CheckpointSaver: there are two, which would write the "
                        "same folders; one is accepted");
  }
  if (trainer.environment().output_dir.empty()) return;
  trainer_ = &trainer;
  folder_ = trainer.environment().output_dir + "/checkpoints";
  monitor_ = trainer.monitor();
  if (!options_.monitor.empty()) {
    monitor_.metric = options_.monitor;
    monitor_.higher_is_better = options_.higher_is_better;
  }
  trainer.on_training_began.Bind([this](TrainerContext&) { Begin(); });
  trainer.on_stop_check.Bind([this](TrainerContext& context) {
    if (context.is_mid_epoch) Judge(context);
  });
  trainer.on_step_boundary.Bind(
      [this](TrainerContext& context) { AtStep(context); });
  trainer.on_epoch_committed.Bind(
      [this](TrainerContext& context) { AtEpoch(context); });
  trainer.on_training_ended.Bind(
      [this](TrainerContext& context) { AtEnd(context); });
}

void CheckpointSaver::AttachToValidation(engine::ValidationRunner& runner) {
  // A long validation must not keep what was saved before it a secret.
  runner.on_post_step.Bind([this](engine::RunnerContext&) {
    if (may_have_news_) Collect(writer_->Poll());
  });
}

void CheckpointSaver::OnException(TrainerContext& context,
                                  const std::exception& cause) {
  if (!options_.save_on_exception || trainer_ == nullptr ||
      dynamic_cast<const engine::Interruption*>(&cause) != nullptr) {
    return;
  }
  if (trainer_->environment().communicator->world_size() > 1) {
    trainer_->events().Notice(
        "warning",
        "CheckpointSaver: save_on_exception: with several ranks nothing can "
        "be saved once one of them failed");
    return;
  }
  // Gradients of a group that was not done are lost with it.
  context.can_save = true;
  Save(context, /*has_scores=*/false);
}

void CheckpointSaver::Finalize(TrainerContext&, engine::RunResult result) {
  if (writer_) Collect(writer_->Wait());
  if (!retention_ || result != engine::RunResult::kSuccess) return;
  // The last save is recorded in a moment, and nobody asks again.
  const Clock::time_point until = Clock::now() + options_.settle;
  while (retention_->HasToGo() && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    RemoveOld();
  }
}

void CheckpointSaver::Begin() {
  last_save_ = Clock::now();
  seen_step_ = trainer_->position().step;
  earlier_best_ =
      options_.monitor.empty() ? trainer_->monitor().best : monitor_.best;
  if (!trainer_->is_main_rank()) return;
  retention_.emplace(engine::Retention::Options{
      .keep_last = options_.keep_last,
      .keep_best = options_.keep_best,
      .higher_is_better = monitor_.higher_is_better});
  for (const std::string& path : trainer_->environment().earlier_checkpoints) {
    const auto info = engine::ReadCheckpointInfo(path);
    engine::Retention::Item item{.path = path, .is_broken = !info};
    if (info && info->scores.contains(monitor_.metric)) {
      item.score = engine::ToNumber(info->scores.at(monitor_.metric));
    }
    std::error_code ignored;
    item.is_pinned =
        std::filesystem::equivalent(path, trainer_->resumed_from(), ignored);
    retention_->Add(std::move(item));
  }
  removal_waits_ = !retention_->items().empty();
}

bool CheckpointSaver::IsDue(std::optional<int64_t> every, int64_t done) const {
  return every && done >= options_.begin &&
         (done - options_.begin) % *every == 0;
}

void CheckpointSaver::AtStep(TrainerContext& context) {
  if (may_have_news_) Collect(writer_->Poll());
  if (removal_waits_) RemoveOld();
  const int64_t step = trainer_->position().step;
  // Not again with batches that are left out.
  const bool is_new = std::exchange(seen_step_, step) != step;
  if (options_.every_seconds && trainer_->is_main_rank() &&
      std::chrono::duration<double>(Clock::now() - last_save_).count() >=
          *options_.every_seconds) {
    // Ranks save together, at a step that all agree on.
    trainer_->RequestCheckpoint();
    last_save_ = Clock::now();
  }
  // A validation within the epoch, of these very weights.
  const bool has_scores = context.is_mid_epoch && judged_at_ == step;
  const bool is_best = has_scores && is_best_ && options_.keep_best != 0;
  if (context.ending) {
    SaveLast(context, has_scores);
  } else if (trainer_->checkpoint_wanted() || is_best ||
             (is_new && IsDue(options_.every_steps, step))) {
    Save(context, has_scores);
  }
}

void CheckpointSaver::AtEpoch(TrainerContext& context) {
  if (may_have_news_) Collect(writer_->Poll());
  Judge(context);
  const bool is_best = is_best_ && options_.keep_best != 0;
  if (context.ending && trainer_->is_stopping()) {
    SaveLast(context, /*has_scores=*/true);
  } else if (IsDue(options_.every_epochs, trainer_->position().epoch) ||
             is_best || (context.ending && options_.save_last) ||
             trainer_->checkpoint_wanted()) {
    Save(context, /*has_scores=*/true);
  }
  RemoveOld();
}

void CheckpointSaver::AtEnd(TrainerContext& context) {
  // A run that ends within an epoch was measured last by these weights, or not;
  // of others all is saved.
  const bool has_scores = judged_at_ == trainer_->position().step;
  // Other weights than the judged ones may be back.
  if (has_scores && std::exchange(score_, ScoreOf(context)) != score_) {
    is_best_ = false;
  }
  const bool is_best = has_scores && is_best_ && options_.keep_best != 0;
  if (options_.save_last || is_best) {
    SaveLast(context, has_scores);
  } else if (writer_) {
    Collect(writer_->Wait());
  }
  RemoveOld();
}

void CheckpointSaver::Judge(const TrainerContext& context) {
  judged_at_ = trainer_->position().step;
  score_ = ScoreOf(context);
  is_best_ = options_.monitor.empty()
                 ? context.is_best
                 : score_ && trainer_->training_runner().can_save() &&
                       monitor_.Update(*score_, context.epoch);
}

std::optional<double> CheckpointSaver::ScoreOf(
    const TrainerContext& context) const {
  if (options_.monitor.empty()) return context.monitored;
  if (options_.monitor.starts_with("train/") && !context.train_is_measured) {
    return {};
  }
  const double* value = engine::FindScore(context.scores, options_.monitor);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

void CheckpointSaver::Save(const TrainerContext& context, bool has_scores,
                           bool is_last) {
  if (!context.can_save && !is_last) {
    // At the next place where it can be.
    trainer_->RequestCheckpoint();
    return;
  }
  const engine::Position& position = trainer_->position();
  const std::string path = folder_ + "/" + FolderName(position);
  if (path == newest_) return;
  // Before a snapshot is taken: it holds its own place.
  newest_ = path;
  if (writer_) Collect(writer_->Wait());
  engine::Snapshot snapshot = trainer_->TakeSnapshot();
  last_save_ = Clock::now();
  if (!trainer_->is_main_rank()) return;
  Json metrics = Json::object();
  if (has_scores) {
    for (const auto& [name, value] : context.scores) {
      metrics[name] = engine::FromNumber(value);
    }
  }
  // Those of an earlier epoch are not this checkpoint's.
  snapshot.json["scores"] = metrics;
  pending_ = Pending{
      {{"path", path},
       {"epoch", position.batch == 0 ? position.epoch : position.epoch + 1},
       {"step", position.step},
       {"batch", position.batch},
       {"best", has_scores && is_best_},
       {"metrics", metrics},
       {"world_size", trainer_->environment().communicator->world_size()}},
      {.path = path}};
  if (has_scores && score_) pending_->item.score = *score_;
  if (!writer_) writer_ = std::make_unique<CheckpointWriter>();
  writer_->Start(path, std::move(snapshot));
  may_have_news_ = true;
  if (!options_.asynchronous) Collect(writer_->Wait());
}

void CheckpointSaver::SaveLast(const TrainerContext& context, bool has_scores) {
  // Gradients that wait for a step are lost, which is better than all.
  Save(context, has_scores, /*is_last=*/true);
  std::string problem;
  for (int tries = 1; writer_ != nullptr; ++tries) {
    auto result = writer_->Wait();
    may_have_news_ = false;
    if (result) problem = result->error;
    if (result && problem.empty()) Committed(result->saved);
    if (!pending_ || tries >= kTriesOfTheLast) break;
    // It failed, now or before.
    std::this_thread::sleep_for(options_.retry_wait);
    writer_->Retry();
  }
  if (!pending_) problem.clear();
  // Ranks end alike.
  problem = trainer_->environment().communicator->Gather(problem).front();
  if (problem.empty()) return;
  throw engine::Error(
      engine::ErrorKind::kInfrastructure,
      "checkpoint: the last one of this run was not saved, older ones are as "
      "they were: " +
          problem);
}

void CheckpointSaver::Collect(std::optional<CheckpointWriter::Result> result) {
  if (!result) return;
  may_have_news_ = false;
  if (result->error.empty()) {
    Committed(result->saved);
  } else {
    Failed(result->error);
  }
}

void CheckpointSaver::Committed(const engine::SavedCheckpoint& saved) {
  failures_ = 0;
  Pending pending = std::move(*pending_);
  pending_.reset();
  pending.event["bytes"] = saved.bytes;
  pending.event["manifest_sha256"] = saved.manifest_sha256;
  pending.item.event =
      trainer_->events().Emit("checkpoint_saved", std::move(pending.event));
  retention_->Add(std::move(pending.item));
  try {
    const auto name = [](const std::string& path) {
      return std::filesystem::path(path).filename().string();
    };
    engine::PointAt(folder_, "last", name(saved.path));
    const std::string best = retention_->Best();
    if (best.starts_with(folder_ + "/") && IsBestOfAll(best)) {
      engine::PointAt(folder_, "best", name(best));
    }
  } catch (const engine::Error& error) {
    trainer_->events().Notice("warning", error.what());
  }
  removal_waits_ = true;
  RemoveOld();
}

bool CheckpointSaver::IsBestOfAll(const std::string& path) const {
  for (const engine::Retention::Item& item : retention_->items()) {
    if (item.path == path) return !monitor_.IsBetter(earlier_best_, item.score);
  }
  return false;
}

void CheckpointSaver::Failed(const std::string& problem) {
  ++failures_;
  if (options_.give_up_after > 0 && failures_ >= options_.give_up_after) {
    throw engine::Error(engine::ErrorKind::kInfrastructure,
                        "checkpoint: " + std::to_string(failures_) +
                            " saves in a row failed, the last one: " + problem);
  }
  trainer_->events().Notice(
      "warning",
      "a checkpoint was not saved, the training goes on: " + problem);
}

void CheckpointSaver::RemoveOld() {
  if (!retention_) return;
  const size_t before = retention_->items().size();
  const std::vector<std::string> removable = retention_->TakeRemovable(
      [this](int64_t event) { return trainer_->events().IsRecorded(event); });
  for (const std::string& path : removable) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) {
      retention_->PutBack(path);
      continue;
    }
    RemoveLinksTo(path);
    trainer_->events().Emit("checkpoint_removed", {{"path", path}});
  }
  // Asks again only where a record may still come.
  removal_waits_ = retention_->items().size() == before && before > 1;
}

nlohmann::ordered_json CheckpointSaver::State() const {
  Json state = {{"path", std::filesystem::path(newest_).filename().string()}};
  if (!options_.monitor.empty()) {
    state["monitor"] = {{"metric", monitor_.metric},
                        {"value", engine::FromNumber(monitor_.best)},
                        {"epoch", monitor_.best_epoch}};
  }
  return state;
}

void CheckpointSaver::LoadState(const nlohmann::ordered_json& state) {
  auto best = state.find("monitor");
  // Another monitor begins anew.
  if (best == state.end() || options_.monitor.empty() ||
      best->value("metric", "") != options_.monitor) {
    return;
  }
  monitor_.best = engine::ToNumber(best->at("value"));
  monitor_.best_epoch = best->value("epoch", int64_t{-1});
}

engine::Entry<engine::Hook> CheckpointSaverEntry() {
  return {
      {.kind = "hook",
       .name = "CheckpointSaver",
       .aliases = {"PyTorchModelSaver", "CheckpointHook", "ModelCheckpoint"},
       .help = "saves checkpoints; stands in for the job's `checkpoints`",
       .parameters =
           {{.name = "every",
             .type = "every",
             .default_value = "1 epoch",
             .help = "n epochs, n steps or a duration"},
            {.name = "begin",
             .type = "int",
             .default_value = 0,
             .min = 0,
             .aliases = {"save_begin"},
             .help = "epoch or step, as `every` counts, of the first one"},
            {.name = "keep_last",
             .type = "int",
             .default_value = 3,
             .min = -1,
             .aliases = {"max_keep_ckpts"},
             .help = "newest ones that are kept, 1 or more; -1: all"},
            {.name = "keep_best",
             .type = "int",
             .default_value = 1,
             .min = -1,
             .aliases = {"save_top_k"},
             .help = "best ones that are kept beside them; -1: all"},
            {.name = "monitor",
             .type = "score",
             .help = "score of the best, such as val/accuracy; the "
                     "experiment's by default"},
            {.name = "mode",
             .type = "string",
             .choices = {"min", "max"},
             .help = "what is best of `monitor`; as it says itself by "
                     "default"},
            {.name = "save_last",
             .type = "bool",
             .default_value = true,
             .help = "when the training is done; one that is stopped is "
                     "always saved"},
            {.name = "save_on_exception",
             .type = "bool",
             .default_value = false,
             .help = "when the training fails by itself; one rank only"},
            {.name = "asynchronous",
             .type = "bool",
             .default_value = true,
             .help = "write beside the training"},
            {.name = "give_up_after",
             .type = "int",
             .default_value = 5,
             .min = 0,
             .help = "saves that fail in a row and end the training; 0: "
                     "none do"}},
       .one_of = "CheckpointSaver"},
      [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
        const auto every = catalogue::ParseEvery(params.String("every"));
        if (params.Int("keep_last") == 0) {
          params.Fail("keep_last",
                      "0 would keep nothing to go on from; 1 or more, or -1 "
                      "for all, is accepted");
        }
        CheckpointSaver::Options options;
        options.every_epochs = every->epochs;
        options.every_steps = every->steps;
        options.every_seconds = every->seconds;
        options.begin = params.Int("begin");
        options.keep_last = params.Int("keep_last");
        options.keep_best = params.Int("keep_best");
        options.monitor = params.OptionalString("monitor").value_or("");
        options.higher_is_better = params.Has("mode")
                                       ? params.String("mode") == "max"
                                       : params.IsBetterHigher(options.monitor);
        options.save_last = params.Bool("save_last");
        options.save_on_exception = params.Bool("save_on_exception");
        options.asynchronous = params.Bool("asynchronous");
        options.give_up_after = params.Int("give_up_after");
        return std::make_shared<CheckpointSaver>(std::move(options));
      }};
}

}  // namespace epochd::hooks
