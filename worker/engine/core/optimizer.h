// SPDX-License-Identifier: Apache-2.0
//
// Optimizer: updates parameters from their gradients. Parameters are given
// once, in groups; state tensors are created at a parameter's first step. One
// thread.
//
// A group's settings may be changed between steps; schedulers do. What a group
// was built with is kept beside them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/core/pending_reads.h"

namespace epochd::engine {

class Optimizer {
 public:
  struct Group {
    // "default", or what the job file calls it.
    std::string name;
    // How many of parameters() are its, following those of the group before.
    size_t num_parameters = 0;
    double lr = 0.0;
    // Momentum of SGD and RMSprop, the first beta of Adam and its kin.
    double momentum = 0.0;
    double weight_decay = 0.0;
    // As built, and as scaled to the batch size; schedulers start from them.
    double initial_lr = 0.0;
    double initial_momentum = 0.0;
  };
  // Clears gradients, computes the loss and its gradients (all of them there
  // on return: synchronized, unscaled), and returns the loss.
  using Closure = std::function<at::Tensor()>;

  virtual ~Optimizer() = default;

  // Updates every parameter that has a gradient.
  virtual void Step() = 0;
  // Whether a step must evaluate the loss itself, several times (LBFGS): only
  // Step(closure) works then, and Step() throws Error(kBadSpec).
  virtual bool needs_closure() const { return false; }
  // Whether it does so now or later in a run.
  virtual bool may_need_closure() const { return needs_closure(); }
  // One step with the loss evaluated by `closure`; returns the loss before the
  // step.
  virtual at::Tensor Step(const Closure& closure) {
    at::Tensor loss = closure();
    Step();
    return loss;
  }
  // Clears gradients (to undefined, as set_to_none).
  virtual void ZeroGrad() = 0;
  // Steps done since the job began.
  virtual int64_t num_steps() const = 0;

  // At least one; their number and parameters stay as they are.
  virtual std::vector<Group>& groups() = 0;
  virtual const std::vector<Group>& groups() const = 0;
  // In the order of the groups.
  virtual const std::vector<NamedTensor>& parameters() const = 0;
  // Whether `momentum` of a group means something to it.
  virtual bool has_momentum() const = 0;

  // State tensors named "<state>.<parameter>", such as
  // "exp_avg.layers.0.weight"; "step" is a [1] double tensor.
  virtual std::vector<NamedTensor> State() const = 0;
  // Who reads what State() gave adds to it and may go on reading: it finishes
  // before a step changes them. nullptr: they are the caller's to read now.
  virtual std::shared_ptr<PendingReads> pending_reads() const {
    return nullptr;
  }
  // Restores what State() gave. Throws Error naming what is missing or of
  // another shape; the optimizer is then unchanged.
  virtual void LoadState(const std::vector<NamedTensor>& state) = 0;

  // Of the first group.
  double lr() const { return groups().front().lr; }
  double momentum() const { return groups().front().momentum; }
  // Multiplies the rates that the run begins with.
  virtual void ScaleRates(double factor) {
    for (Group& group : groups()) {
      group.lr *= factor;
      group.initial_lr *= factor;
    }
  }
  // In every group.
  void set_lr(double lr) {
    for (Group& group : groups()) group.lr = lr;
  }
  void set_momentum(double momentum) {
    for (Group& group : groups()) group.momentum = momentum;
  }

  // What job files call it; "": whoever made it does not say, or it stands for
  // several.
  const std::string& type() const { return type_; }
  void set_type(std::string type) { type_ = std::move(type); }

  // Groups as JSON: settings, names of parameters, type of the optimizer.
  nlohmann::ordered_json Settings() const;
  // Restores settings. Returns what differs when `settings` are those of other
  // groups of parameters, and then changes nothing; "" otherwise.
  std::string LoadSettings(const nlohmann::ordered_json& settings);

 private:
  std::string type_;
};

// Restores settings, then state. Returns why the optimizer stays as it is, when
// it has other groups of parameters than the saved one; "" otherwise. Throws
// Error, and leaves the optimizer as it is, when the state is broken or of
// another type of optimizer.
std::string RestoreOptimizer(Optimizer& optimizer,
                             const nlohmann::ordered_json& settings,
                             const std::vector<NamedTensor>& state);

}  // namespace epochd::engine
