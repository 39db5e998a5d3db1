// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/recursive.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "worker/engine/schedule/number.h"

namespace epochd::engine {

void RecursiveScheduler::Start(Optimizer& optimizer) {
  epoch_ = 0;
  base_lr_ = optimizer.initial_lr();
  optimizer.set_lr(First(base_lr_));
}

void RecursiveScheduler::Step(Optimizer& optimizer,
                              std::optional<double> /*monitored*/) {
  ++epoch_;
  optimizer.set_lr(Next(optimizer.lr(), epoch_, base_lr_));
}

nlohmann::ordered_json RecursiveScheduler::State() const {
  return {{"epoch", epoch_}, {"base_lr", ToStateNumber(base_lr_)}};
}

void RecursiveScheduler::LoadState(const nlohmann::ordered_json& state) {
  const double epoch = ReadStateNumber(state, "epoch");
  base_lr_ = ReadStateNumber(state, "base_lr");
  epoch_ = static_cast<int64_t>(epoch);
}

double StepScheduler::Next(double lr, int64_t epoch, double /*base_lr*/) const {
  return epoch % step_size_ == 0 ? lr * gamma_ : lr;
}

double MultiStepScheduler::Next(double lr, int64_t epoch,
                                double /*base_lr*/) const {
  const auto times = std::count(milestones_.begin(), milestones_.end(), epoch);
  if (times == 0) return lr;
  return lr * std::pow(gamma_, static_cast<double>(times));
}

double ExponentialScheduler::Next(double lr, int64_t /*epoch*/,
                                  double /*base_lr*/) const {
  return lr * gamma_;
}

double ConstantScheduler::Next(double lr, int64_t epoch,
                               double /*base_lr*/) const {
  return epoch == total_iters_ ? lr * (1.0 / factor_) : lr;
}

double CosineAnnealingScheduler::Next(double lr, int64_t epoch,
                                      double base_lr) const {
  constexpr double kPi = std::numbers::pi;
  const double t_max = static_cast<double>(t_max_);
  // The quotient below is 0/0 one epoch behind each minimum.
  if (epoch > t_max_ && (epoch - 1 - t_max_) % (2 * t_max_) == 0) {
    return lr + (base_lr - eta_min_) * (1 - std::cos(kPi / t_max)) / 2;
  }
  const double now = static_cast<double>(epoch);
  return (1 + std::cos(kPi * now / t_max)) /
             (1 + std::cos(kPi * (now - 1) / t_max)) * (lr - eta_min_) +
         eta_min_;
}

}  // namespace epochd::engine
