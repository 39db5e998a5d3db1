// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/fused.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

using StateMap = std::unordered_map<std::string, at::Tensor>;

const at::Tensor& Require(const StateMap& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) {
    throw Error(ErrorKind::kBadSpec, "optimizer state \"" + name +
                                         "\": not there; a state saved from "
                                         "the same model and optimizer is "
                                         "accepted");
  }
  return found->second;
}

int64_t ReadSteps(const at::Tensor& tensor, const std::string& name) {
  const double steps = tensor.numel() == 1 ? tensor.item<double>() : -1.0;
  if (!(steps >= 0)) {
    throw Error(ErrorKind::kBadSpec,
                "optimizer state \"" + name +
                    "\": no count of steps; one number from 0 is accepted");
  }
  return static_cast<int64_t>(steps);
}

at::Tensor CopyLike(const at::Tensor& saved, const at::Tensor& parameter,
                    const std::string& name) {
  if (saved.sizes() != parameter.sizes()) {
    std::ostringstream message;
    message << "optimizer state \"" << name << "\": shape " << saved.sizes()
            << "; that of the parameter, " << parameter.sizes()
            << ", is accepted";
    throw Error(ErrorKind::kBadSpec, message.str());
  }
  return at::empty_like(parameter).copy_(saved);
}

}  // namespace

FusedOptimizer::FusedOptimizer(std::vector<NamedTensor> parameters, double lr,
                               std::vector<std::string> state_names)
    : parameters_(std::move(parameters)),
      state_names_(std::move(state_names)),
      initial_lr_(lr),
      lr_(lr),
      slots_(parameters_.size()) {}

void FusedOptimizer::Step() {
  const at::NoGradGuard no_grad;
  if (!grouped_ || !CollectGradients()) {
    MakeGroups();
    CollectGradients();
  }
  ++num_steps_;
  for (Group& group : groups_) {
    if (group.step.defined()) group.step.add_(1);
    Update(group);
    ++group.steps_before;
    for (const size_t index : group.indices) ++slots_[index].steps;
    // Lets go of them, so that clearing gradients gives their memory back.
    group.gradients.clear();
  }
}

bool FusedOptimizer::CollectGradients() {
  for (const size_t index : idle_) {
    if (parameters_[index].tensor.grad().defined()) return false;
  }
  for (Group& group : groups_) {
    group.gradients.clear();
    for (const at::Tensor& parameter : group.parameters) {
      const at::Tensor& gradient = parameter.grad();
      if (!gradient.defined()) return false;
      group.gradients.push_back(gradient);
    }
  }
  return true;
}

void FusedOptimizer::MakeGroups() {
  groups_.clear();
  idle_.clear();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& parameter = parameters_[i].tensor;
    if (!parameter.grad().defined()) {
      idle_.push_back(i);
      continue;
    }
    Slot& slot = slots_[i];
    if (slot.states.empty()) {
      for (size_t s = 0; s < state_names_.size(); ++s) {
        slot.states.push_back(at::zeros_like(parameter));
      }
    }
    auto group =
        std::find_if(groups_.begin(), groups_.end(), [&](const Group& other) {
          const at::Tensor& first = other.parameters.front();
          return other.steps_before == slot.steps &&
                 first.device() == parameter.device() &&
                 first.scalar_type() == parameter.scalar_type();
        });
    if (group == groups_.end()) {
      group = groups_.insert(groups_.end(), Group());
      group->steps_before = slot.steps;
      group->states.resize(state_names_.size());
      group->step = at::full({}, static_cast<double>(slot.steps),
                             parameter.options().dtype(at::kFloat));
    }
    group->indices.push_back(i);
    group->parameters.push_back(parameter);
    group->steps.push_back(group->step);
    for (size_t s = 0; s < state_names_.size(); ++s) {
      group->states[s].push_back(slot.states[s]);
    }
  }
  grouped_ = true;
}

void FusedOptimizer::ZeroGrad() {
  for (const NamedTensor& parameter : parameters_) {
    parameter.tensor.mutable_grad().reset();
  }
}

std::vector<NamedTensor> FusedOptimizer::State() const {
  const auto steps = [](int64_t count) {
    return at::full({1}, static_cast<double>(count), at::kDouble);
  };
  std::vector<NamedTensor> state{{"step", steps(num_steps_)}};
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.steps != num_steps_) {
      state.push_back({"step." + parameters_[i].name, steps(slot.steps)});
    }
    if (slot.steps == 0) continue;
    for (size_t s = 0; s < state_names_.size(); ++s) {
      state.push_back(
          {state_names_[s] + "." + parameters_[i].name, slot.states[s]});
    }
  }
  return state;
}

void FusedOptimizer::LoadState(const std::vector<NamedTensor>& state) {
  const at::NoGradGuard no_grad;
  StateMap saved;
  for (const NamedTensor& entry : state) saved[entry.name] = entry.tensor;
  const int64_t num_steps = ReadSteps(Require(saved, "step"), "step");
  std::vector<Slot> slots(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, parameter] = parameters_[i];
    const auto own = saved.find("step." + name);
    slots[i].steps =
        own == saved.end() ? num_steps : ReadSteps(own->second, own->first);
    if (slots[i].steps == 0) continue;
    for (const std::string& state_name : state_names_) {
      const std::string key = state_name + "." + name;
      slots[i].states.push_back(CopyLike(Require(saved, key), parameter, key));
    }
  }
  num_steps_ = num_steps;
  slots_ = std::move(slots);
  grouped_ = false;
}

}  // namespace epochd::engine
