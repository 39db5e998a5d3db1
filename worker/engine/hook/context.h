// SPDX-License-Identifier: Apache-2.0
//
// What hooks see and may change. A context lives for one epoch of a runner, or
// for one run of a trainer; its fields are valid as the comments say. Epochs
// and batches count from 0 here. An epoch is a pass over the loader.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/engine/core/batch.h"
#include "worker/engine/core/metric.h"
#include "worker/engine/core/model.h"
#include "worker/engine/core/optimizer.h"

namespace epochd::engine {

class Trainer;
class Update;
struct Snapshot;

// Names to values, in order, such as "train/loss".
using Scores = std::vector<std::pair<std::string, double>>;

// nullptr: there is none.
inline const double* FindScore(const Scores& scores, std::string_view name) {
  for (const auto& [key, value] : scores) {
    if (key == name) return &value;
  }
  return nullptr;
}

using NamedLosses = std::vector<std::pair<std::string, at::Tensor>>;

// nullptr: there is none.
inline const at::Tensor* FindLoss(const NamedLosses& losses,
                                  std::string_view name) {
  for (const auto& [key, value] : losses) {
    if (key == name) return &value;
  }
  return nullptr;
}

struct RunnerContext {
  // "train", "val", "test", "benchmark" or "predict".
  std::string phase{};
  int64_t epoch = 0;
  // Index of the batch in the epoch; in on_epoch_start the first one that
  // will run, which is not 0 when a run goes on in mid-epoch.
  int64_t batch = 0;
  // Batches that this epoch has; below 0: not known beforehand.
  int64_t num_batches = 0;
  // Optimizer steps done since the job began; of a GAN, batches with which
  // either side did one.
  int64_t step = 0;
  // Batches done since the job began.
  int64_t global_batch = 0;
  int64_t samples = 0;  // of this batch
  // May be given other weights and buffers at any point (LoadModel).
  Model* model = nullptr;
  // nullptr in validation, and where there are two (GanContext).
  Optimizer* optimizer = nullptr;
  // How the optimizer gets from a loss to a step: scale, gradients. Null where
  // `optimizer` is.
  Update* update = nullptr;
  // From on_pre_step to on_step_metrics. Before the forward pass a hook may
  // change or replace what is in it; it is on the device already.
  Batch* entry = nullptr;
  // Weighted sum of the criterion for this batch, after the forward pass;
  // neither divided for accumulation nor scaled. May be replaced in
  // on_post_forward: what stands there is differentiated.
  at::Tensor loss{};
  // The losses it consists of, by name, unweighted; empty when it is but one.
  NamedLosses losses{};
  // Added to what is differentiated; cleared for each batch.
  NamedLosses extra_losses{};
  // Further scalars of this batch; see AddMetric().
  NamedLosses metrics{};
  // Set in on_pre_step: leave this batch out. Every rank must do the same.
  bool skip = false;
  // Set up to on_before_optimizer_step: drop these gradients, do not step.
  // Every rank must do the same.
  bool skip_step = false;
  // The optimizer did a step with this batch. Set from
  // on_after_optimizer_step on; false when it was skipped.
  bool stepped = false;
  // Set at any point but on_epoch_end: end the training after this optimizer
  // step, on all ranks, as if it were done. What is left of this step's hooks
  // still runs, and of its batches where gradients are accumulated.
  // `stop_reason`: what to tell people; the first one is told.
  bool stop = false;
  std::string stop_reason{};

  // Adds a scalar tensor of this batch, up to on_post_step: its mean over the
  // epoch becomes a score under that name, and loggers of steps see it in
  // on_step_metrics. It is not read here, so nothing waits for a device.
  // Throws Error(kBadSpec): the name is empty, or taken by a loss or another
  // metric.
  void AddMetric(std::string_view name, at::Tensor value);
  void AddMetric(std::string_view name, double value);
};

struct GanContext : RunnerContext {
  AdversarialModel* gan = nullptr;
  Optimizer* generator_optimizer = nullptr;
  Optimizer* discriminator_optimizer = nullptr;
  Update* generator_update = nullptr;
  Update* discriminator_update = nullptr;
  // This batch is the epoch's last.
  bool is_last = false;
  // What this batch trains; set to true before on_pre_step, where hooks may
  // let a side rest.
  bool run_d = true;
  bool run_g = true;
  // Set by a warm-up: the generator rests whatever other hooks say, and the
  // steps do not count for the ratio.
  bool warming_up = false;
  // Steps of this epoch, without those of a warm-up.
  int64_t d_steps = 0;
  int64_t g_steps = 0;
  // Added to the discriminator's and the generator's loss; cleared for each
  // batch.
  NamedLosses d_extra_losses{};
  NamedLosses g_extra_losses{};
};

struct PredictionContext : RunnerContext {
  // Of this batch, without padding; from on_post_step. What is in it is
  // written and joined, so a hook may change it.
  Batch outputs{};
  // Places of its samples in the data set, without padding.
  std::vector<int64_t> indices{};
  // In on_epoch_end and Trainer::on_prediction_ended: all outputs in the order
  // of the data set, when they are kept; else empty.
  Batch joined{};
};

struct TrainerContext {
  Trainer* trainer = nullptr;
  int64_t epoch = 0;
  // Below 0: not known.
  int64_t total_epochs = 0;
  int64_t initial_epoch = 0;
  int64_t initial_batch = 0;
  // "train/loss", "val/loss", "val/accuracy", ... of the epoch; in
  // on_validation_finished those of the validation alone, when it is one
  // within an epoch.
  Scores scores{};
  // Of the last validation; from on_validation_finished.
  std::vector<MetricTable> tables{};
  // The monitored score; nothing when it is not among them.
  std::optional<double> monitored{};
  // The monitored score is the best so far. Stays until it could be saved.
  bool is_best = false;
  // Scores are of a validation within an epoch, not of its end.
  bool is_mid_epoch = false;
  // There was a validation since the last on_stop_check, or there is none in
  // this run: stop conditions have something new to look at.
  bool was_validated = false;
  // Scores of the training ("train/...") are to be looked at: in runs that
  // validate by batches where they validate, else where an epoch ends. Others
  // are told, but are of other batches, and not to be compared with those.
  bool train_is_measured = false;
  double seconds = 0;
  double samples_per_second = 0;
  // Of `seconds`, what the training spent waiting for its batches.
  double data_wait_seconds = 0;
  // Set by stop conditions (on_stop_check) with what to tell people.
  bool stop = false;
  std::string stop_reason{};
  // This is the last chance to save: the run ends after this point.
  bool ending = false;
  // False while gradients are half accumulated: TakeSnapshot() would lose
  // them. Whoever wants to save calls RequestCheckpoint().
  bool can_save = true;

  bool IsMeasured(std::string_view score) const {
    return score.starts_with("train/") ? train_is_measured : was_validated;
  }
  // Adds a score, up to on_epoch_finished and on_validation_finished. Throws
  // Error(kBadSpec): the name is empty or taken.
  void AddScore(std::string_view name, double value);
};

// What is about to be saved, or was just read; hooks may change it. On saving
// rank 0 alone is asked; on loading every rank.
struct SnapshotContext {
  Trainer* trainer = nullptr;
  Snapshot* snapshot = nullptr;
};

}  // namespace epochd::engine
