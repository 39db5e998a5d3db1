// SPDX-License-Identifier: Apache-2.0
//
// What hooks see and may change. A context lives for one epoch of a runner, or
// for one run of a trainer; its fields are valid as the comments say. Epochs
// and batches count from 0 here.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/batch.h"
#include "worker/engine/core/model.h"
#include "worker/engine/core/optimizer.h"

namespace epochd::engine {

class EpochTrainer;

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

struct RunnerContext {
  // "train", "val" or "test".
  std::string phase{};
  int64_t epoch = 0;
  // Index of the batch in the epoch; in on_epoch_start the first one that
  // will run, which is not 0 when a run goes on in mid-epoch.
  int64_t batch = 0;
  int64_t num_batches = 0;
  // Optimizer steps done since the job began.
  int64_t step = 0;
  // Batches done since the job began.
  int64_t global_batch = 0;
  int64_t samples = 0;  // of this batch
  Model* model = nullptr;
  // nullptr in validation, and where there are two (GanContext).
  Optimizer* optimizer = nullptr;
  // From on_pre_step to on_post_step. Before the forward pass a hook may
  // change or replace what is in it.
  Batch* entry = nullptr;
  // Weighted sum of the criterion for this batch, after the forward pass.
  at::Tensor loss{};
  // Added to what is differentiated; cleared for each batch.
  NamedLosses extra_losses{};
  // Set in on_pre_step: leave this batch out. Every rank must do the same.
  bool skip = false;
  // Set at any point: end the training after this step, as if it were done.
  bool stop = false;
};

struct GanContext : RunnerContext {
  AdversarialModel* gan = nullptr;
  Optimizer* generator_optimizer = nullptr;
  Optimizer* discriminator_optimizer = nullptr;
  // What this batch trains; set to true before on_pre_step.
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
  NamedLosses d_extra_losses;
  NamedLosses g_extra_losses;
};

struct TrainerContext {
  EpochTrainer* trainer = nullptr;
  int64_t epoch = 0;
  int64_t total_epochs = 0;
  int64_t initial_epoch = 0;
  int64_t initial_batch = 0;
  // Of this epoch: "train/loss", "val/loss", "val/accuracy", ...
  Scores scores;
  // The monitored score; nothing when it is not among them.
  std::optional<double> monitored;
  // The monitored score is the best so far.
  bool is_best = false;
  double seconds = 0;
  double samples_per_second = 0;
  // Set by stop conditions (on_stop_check) with what to tell people.
  bool stop = false;
  std::string stop_reason;
  // This is the last chance to save: the run ends after this point.
  bool ending = false;
};

}  // namespace epochd::engine
