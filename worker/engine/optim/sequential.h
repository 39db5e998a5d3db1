// SPDX-License-Identifier: Apache-2.0
//
// SequentialOptimizer: optimizers of the same parameters, one after another,
// such as Adam and then LBFGS. Each takes over when a number of steps is done,
// with rates and no state but its own: groups() are those of the one at work,
// and what schedulers or hooks made of them ends with it. State: that of the
// one at work, "sequence.index", "sequence.steps" and "sequence.type.<its
// type>". One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/engine/core/optimizer.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

class SequentialOptimizer : public Optimizer {
 public:
  // Optimizer k + 1 takes over after milestones[k] steps in all; they rise, and
  // are one less than `optimizers`. Throws Error(kBadSpec) for optimizers that
  // have not the same groups of parameters, or are one object.
  SequentialOptimizer(std::vector<std::shared_ptr<Optimizer>> optimizers,
                      std::vector<int64_t> milestones);

  void Step() override;
  at::Tensor Step(const Closure& closure) override;
  bool needs_closure() const override { return AtWork().needs_closure(); }
  bool may_need_closure() const override;
  void ZeroGrad() override { AtWork().ZeroGrad(); }
  int64_t num_steps() const override { return num_steps_; }
  std::vector<Group>& groups() override { return groups_; }
  const std::vector<Group>& groups() const override { return groups_; }
  const std::vector<NamedTensor>& parameters() const override {
    return AtWork().parameters();
  }
  bool has_momentum() const override { return AtWork().has_momentum(); }
  void ScaleRates(double factor) override;
  std::shared_ptr<PendingReads> pending_reads() const override {
    return AtWork().pending_reads();
  }
  std::vector<NamedTensor> State() const override;
  // Takes that of the first optimizer by itself, too.
  void LoadState(const std::vector<NamedTensor>& state) override;

 private:
  Optimizer& AtWork() const { return *optimizers_[index_]; }
  // Gives the one at work the settings of groups().
  void PassSettings();
  void CountStep();
  void TakeOver();

  const std::vector<std::shared_ptr<Optimizer>> optimizers_;
  const std::vector<int64_t> milestones_;
  // Beside those of the optimizers: a checkpoint's settings are restored before
  // its state tells which one they are of.
  std::vector<Group> groups_;
  size_t index_ = 0;
  int64_t num_steps_ = 0;
};

catalogue::Component SequentialOptimizerComponent();
std::shared_ptr<Optimizer> MakeSequentialOptimizer(const Params& params);

}  // namespace epochd::engine
