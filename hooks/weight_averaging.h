// SPDX-License-Identifier: Apache-2.0
//
// WeightAveraging: keeps an average of the weights beside them; the hooks EMA
// and SWA. Validation sees the average. The first update copies; then, at
// every `interval`-th one, with n the number of updates before,
//
//   ema         avg += m (w - avg)
//   annealing   the same with max(m, gamma / (gamma + n))
//   warmup      the same with max(m, 1 - (1 + n) / (10 + n))
//   swa         avg += (w - avg) / (n / interval + 1)
//
// An update follows each optimizer step, or the end of each epoch. Before it
// begins the average is the weights themselves. Buffers stay those of the
// training unless they are averaged too (floating ones).
//
// Checkpoints hold the average as the model's weights, so that what is
// deployed is what was validated, and the raw weights in their state; or the
// other way round. A run that goes on has both again.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class WeightAveraging : public engine::Hook {
 public:
  enum class Kind { kEma, kAnnealing, kWarmup, kSwa };
  struct Options {
    Kind kind = Kind::kEma;
    double momentum = 0.0002;
    double gamma = 100;
    int64_t interval = 1;
    // Begins with the update after so many steps or epochs; not both.
    int64_t begin_step = 0;
    int64_t begin_epoch = 0;
    bool at_epochs = false;  // else at steps
    bool average_buffers = false;
    bool validate = true;      // validation sees the average
    bool save_average = true;  // as the model's weights
  };
  explicit WeightAveraging(Options options) : options_(options) {}

  const char* name() const override {
    return options_.kind == Kind::kSwa ? "SWA" : "EMA";
  }
  bool may_stop() const override { return false; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;
  void AttachToValidation(engine::ValidationRunner& runner) override;
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

  // Empty before it began.
  const std::vector<engine::NamedTensor>& average() const { return average_; }
  // Weight of the new weights in update number `n` (from 0, which copies).
  double MomentumOf(int64_t n) const;

 private:
  void AfterStep(const engine::RunnerContext& context);
  void Update();
  // Exchanges the model's weights and the average.
  void Swap();
  void BeforeSave(engine::Snapshot& snapshot);
  void AfterLoad(engine::Snapshot& snapshot);

  const Options options_;
  engine::Trainer* trainer_ = nullptr;
  // What is averaged, and the average, in the same order.
  std::vector<engine::NamedTensor> live_;
  std::vector<engine::NamedTensor> average_;
  int64_t updates_ = 0;
  // Batch at whose end an epoch was counted last.
  int64_t updated_at_ = -1;
  bool is_swapped_ = false;
};

engine::Entry<engine::Hook> EmaEntry();
engine::Entry<engine::Hook> SwaEntry();

}  // namespace epochd::hooks
