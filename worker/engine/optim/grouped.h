// SPDX-License-Identifier: Apache-2.0
//
// GroupedOptimizer: what optimizers share that update many tensors by one call
// of ATen's fused or foreach kernels: groups with settings of their own, which
// parameters have a gradient, state made at a parameter's first step, and its
// round trip. A subclass only calls its kernel.
//
// A kernel call takes tensors that share settings, device, type and number of
// steps done. Such a set is a Bundle. Bundles are kept from step to step, so
// that a step costs one call per bundle plus a look at each gradient; they are
// made anew only when other parameters have gradients than before.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/optimizer.h"

namespace epochd::engine {

// Parameters that are updated by the same settings; those not set are the
// optimizer's.
struct ParameterGroup {
  std::string name = "default";
  std::vector<NamedTensor> parameters{};
  std::optional<double> lr{};
  std::optional<double> momentum{};
  std::optional<double> weight_decay{};
};

// At least one group; a list of parameters is one.
class ParameterGroups {
 public:
  ParameterGroups() : groups_(1) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  ParameterGroups(std::vector<NamedTensor> parameters) : groups_(1) {
    groups_.front().parameters = std::move(parameters);
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  ParameterGroups(std::vector<ParameterGroup> groups)
      : groups_(std::move(groups)) {
    if (groups_.empty()) groups_.emplace_back();
  }
  const std::vector<ParameterGroup>& list() const { return groups_; }
  // Whether any of them has one, where `common` is that of the others.
  bool HaveMomentum(double common) const {
    if (common != 0.0) return true;
    for (const ParameterGroup& group : groups_) {
      if (group.momentum.value_or(0.0) != 0.0) return true;
    }
    return false;
  }

 private:
  std::vector<ParameterGroup> groups_;
};

// What an optimizer's groups have unless they say otherwise.
struct CommonSettings {
  double lr = 0.0;
  // Nothing: the optimizer has none.
  std::optional<double> momentum{};
  double weight_decay = 0.0;
};

class GroupedOptimizer : public Optimizer {
 public:
  void Step() final;
  using Optimizer::Step;
  void ZeroGrad() final;
  int64_t num_steps() const final { return num_steps_; }
  std::vector<Group>& groups() final { return groups_; }
  const std::vector<Group>& groups() const final { return groups_; }
  const std::vector<NamedTensor>& parameters() const final {
    return parameters_;
  }
  bool has_momentum() const final { return has_momentum_; }
  // "step" is the number of calls of Step(). A parameter that had no gradient
  // in some of them has a further "step.<parameter>".
  std::vector<NamedTensor> State() const final;
  std::shared_ptr<PendingReads> pending_reads() const final { return reads_; }
  void LoadState(const std::vector<NamedTensor>& state) final;

 protected:
  struct Bundle {
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> gradients;
    // One list per name of state, in the order of `state_names`.
    std::vector<std::vector<at::Tensor>> states;
    // Settings; refers to groups().
    size_t group = 0;
    // Steps done before this one, and after it as one float tensor on the
    // device, which is what kernels with bias correction read.
    int64_t steps_before = 0;
    at::Tensor step;
    std::vector<at::Tensor> steps;
    // A number that follows from the steps done; see scalar_name().
    double scalar = 1.0;
    std::vector<size_t> indices;
  };

  // `state_names`: tensors kept per parameter, of its shape.
  GroupedOptimizer(ParameterGroups groups, const CommonSettings& settings,
                   std::vector<std::string> state_names);

  // Calls the kernel. May change the bundle's tensors and its scalar.
  virtual void Update(Bundle& bundle, const Group& settings) = 0;
  // What a state tensor is before the first step.
  virtual double InitialState() const { return 0.0; }
  // Name in State() of a number that each parameter has beside its tensors, 1
  // before the first step; empty: none.
  virtual std::string scalar_name() const { return ""; }

 private:
  struct Slot {
    size_t group = 0;
    int64_t steps = 0;
    double scalar = 1.0;
    std::vector<at::Tensor> states{};  // empty: no step yet
  };

  // Throws when an entry of a state is of another optimizer.
  void RequireOwn(const std::string& entry) const;
  // Takes the gradients into the bundles; false: the bundles do not fit them.
  bool CollectGradients();
  void MakeBundles();
  bool Fits(const Bundle& bundle, const at::Tensor& parameter,
            const Slot& slot) const;

  std::vector<Group> groups_;
  std::vector<NamedTensor> parameters_;
  const std::vector<std::string> state_names_;
  const bool has_momentum_;
  int64_t num_steps_ = 0;
  std::vector<Slot> slots_;  // one per parameter
  // Of the slots' tensors.
  const std::shared_ptr<PendingReads> reads_ = std::make_shared<PendingReads>();
  std::vector<Bundle> bundles_;
  std::vector<size_t> idle_;  // parameters in no bundle
  bool is_bundled_ = false;
};

}  // namespace epochd::engine
