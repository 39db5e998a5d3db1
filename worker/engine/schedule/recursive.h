// SPDX-License-Identifier: Apache-2.0
//
// Schedulers whose next learning rate follows from the present one and the
// epoch: torch.optim.lr_scheduler's StepLR, MultiStepLR, ExponentialLR,
// ConstantLR and CosineAnnealingLR, operation by operation, so that rates are
// bit-equal. They read the optimizer's rate, so what a hook did to it stays.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "worker/engine/core/lr_scheduler.h"

namespace epochd::engine {

class RecursiveScheduler : public LrScheduler {
 public:
  void Start(Optimizer& optimizer) final;
  void Step(Optimizer& optimizer, std::optional<double> monitored) final;
  nlohmann::ordered_json State() const final;
  void LoadState(const nlohmann::ordered_json& state) final;

 protected:
  // Rate of epoch 0.
  virtual double First(double base_lr) const { return base_lr; }
  // Rate of epoch `epoch` >= 1, from that of the epoch before.
  virtual double Next(double lr, int64_t epoch, double base_lr) const = 0;

 private:
  int64_t epoch_ = 0;
  double base_lr_ = 0.0;
};

// Times gamma every `step_size` epochs.
class StepScheduler : public RecursiveScheduler {
 public:
  StepScheduler(int64_t step_size, double gamma)
      : step_size_(step_size), gamma_(gamma) {}

 private:
  double Next(double lr, int64_t epoch, double base_lr) const override;

  const int64_t step_size_;
  const double gamma_;
};

// Times gamma at each milestone, as often as it is listed.
class MultiStepScheduler : public RecursiveScheduler {
 public:
  MultiStepScheduler(std::vector<int64_t> milestones, double gamma)
      : milestones_(std::move(milestones)), gamma_(gamma) {}

 private:
  double Next(double lr, int64_t epoch, double base_lr) const override;

  const std::vector<int64_t> milestones_;
  const double gamma_;
};

// Times gamma every epoch.
class ExponentialScheduler : public RecursiveScheduler {
 public:
  explicit ExponentialScheduler(double gamma) : gamma_(gamma) {}

 private:
  double Next(double lr, int64_t epoch, double base_lr) const override;

  const double gamma_;
};

// Times factor for the first `total_iters` epochs.
class ConstantScheduler : public RecursiveScheduler {
 public:
  ConstantScheduler(double factor, int64_t total_iters)
      : factor_(factor), total_iters_(total_iters) {}

 private:
  double First(double base_lr) const override { return base_lr * factor_; }
  double Next(double lr, int64_t epoch, double base_lr) const override;

  const double factor_;
  const int64_t total_iters_;
};

// Half a cosine from the first rate to eta_min in t_max epochs, and back.
class CosineAnnealingScheduler : public RecursiveScheduler {
 public:
  CosineAnnealingScheduler(int64_t t_max, double eta_min)
      : t_max_(t_max), eta_min_(eta_min) {}

 private:
  double Next(double lr, int64_t epoch, double base_lr) const override;

  const int64_t t_max_;
  const double eta_min_;
};

}  // namespace epochd::engine
