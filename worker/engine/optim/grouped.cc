// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/grouped.h"

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

double ReadNumber(const at::Tensor& tensor, const std::string& name) {
  const double number = tensor.numel() == 1 ? tensor.item<double>() : -1.0;
  if (!(number >= 0)) {
    throw Error(ErrorKind::kBadSpec, "optimizer state \"" + name +
                                         "\": one number from 0 is accepted");
  }
  return number;
}

int64_t ReadSteps(const at::Tensor& tensor, const std::string& name) {
  return static_cast<int64_t>(ReadNumber(tensor, name));
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

// Writes the count; on a CPU without a kernel's call.
void CountStep(at::Tensor& step, int64_t count) {
  if (step.is_cpu()) {
    *step.mutable_data_ptr<float>() = static_cast<float>(count);
  } else {
    step.add_(1);
  }
}

}  // namespace

GroupedOptimizer::GroupedOptimizer(ParameterGroups groups,
                                   const CommonSettings& settings,
                                   std::vector<std::string> state_names)
    : state_names_(std::move(state_names)),
      has_momentum_(settings.momentum.has_value()) {
  for (const ParameterGroup& each : groups.list()) {
    Group group{
        .name = each.name,
        .num_parameters = each.parameters.size(),
        .lr = each.lr.value_or(settings.lr),
        .momentum = each.momentum.value_or(settings.momentum.value_or(0.0)),
        .weight_decay = each.weight_decay.value_or(settings.weight_decay)};
    group.initial_lr = group.lr;
    group.initial_momentum = group.momentum;
    for (const NamedTensor& parameter : each.parameters) {
      parameters_.push_back(parameter);
      slots_.push_back({.group = groups_.size()});
    }
    groups_.push_back(std::move(group));
  }
}

void GroupedOptimizer::Step() {
  const at::NoGradGuard no_grad;
  reads_->Finish();
  if (!is_bundled_ || !CollectGradients()) {
    MakeBundles();
    CollectGradients();
  }
  ++num_steps_;
  for (Bundle& bundle : bundles_) {
    CountStep(bundle.step, bundle.steps_before + 1);
    const double scalar = bundle.scalar;
    Update(bundle, groups_[bundle.group]);
    ++bundle.steps_before;
    for (const size_t index : bundle.indices) ++slots_[index].steps;
    if (bundle.scalar != scalar) {
      for (const size_t index : bundle.indices) {
        slots_[index].scalar = bundle.scalar;
      }
    }
    // Lets go of them, so that clearing gradients gives their memory back.
    bundle.gradients.clear();
  }
}

bool GroupedOptimizer::CollectGradients() {
  for (const size_t index : idle_) {
    if (parameters_[index].tensor.grad().defined()) return false;
  }
  for (Bundle& bundle : bundles_) {
    bundle.gradients.clear();
    for (const at::Tensor& parameter : bundle.parameters) {
      const at::Tensor& gradient = parameter.grad();
      if (!gradient.defined()) return false;
      bundle.gradients.push_back(gradient);
    }
  }
  return true;
}

bool GroupedOptimizer::Fits(const Bundle& bundle, const at::Tensor& parameter,
                            const Slot& slot) const {
  const at::Tensor& first = bundle.parameters.front();
  return bundle.group == slot.group && bundle.steps_before == slot.steps &&
         bundle.scalar == slot.scalar && first.device() == parameter.device() &&
         first.scalar_type() == parameter.scalar_type();
}

void GroupedOptimizer::MakeBundles() {
  bundles_.clear();
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
        slot.states.push_back(at::full_like(parameter, InitialState()));
      }
    }
    auto bundle = std::find_if(
        bundles_.begin(), bundles_.end(),
        [&](const Bundle& other) { return Fits(other, parameter, slot); });
    if (bundle == bundles_.end()) {
      bundle = bundles_.insert(bundles_.end(), Bundle());
      bundle->group = slot.group;
      bundle->steps_before = slot.steps;
      bundle->scalar = slot.scalar;
      bundle->states.resize(state_names_.size());
      bundle->step = at::full({}, static_cast<double>(slot.steps),
                              parameter.options().dtype(at::kFloat));
    }
    bundle->indices.push_back(i);
    bundle->parameters.push_back(parameter);
    bundle->steps.push_back(bundle->step);
    for (size_t s = 0; s < state_names_.size(); ++s) {
      bundle->states[s].push_back(slot.states[s]);
    }
  }
  is_bundled_ = true;
}

void GroupedOptimizer::ZeroGrad() {
  for (const NamedTensor& parameter : parameters_) {
    parameter.tensor.mutable_grad().reset();
  }
}

std::vector<NamedTensor> GroupedOptimizer::State() const {
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
    if (!scalar_name().empty()) {
      state.push_back({scalar_name() + "." + parameters_[i].name,
                       at::full({1}, slot.scalar, at::kDouble)});
    }
    for (size_t s = 0; s < state_names_.size(); ++s) {
      state.push_back(
          {state_names_[s] + "." + parameters_[i].name, slot.states[s]});
    }
  }
  return state;
}

void GroupedOptimizer::RequireOwn(const std::string& entry) const {
  const std::string kind = entry.substr(0, entry.find('.'));
  if (kind == "step" || kind == scalar_name() ||
      std::find(state_names_.begin(), state_names_.end(), kind) !=
          state_names_.end()) {
    return;
  }
  throw Error(ErrorKind::kBadSpec,
              "optimizer state \"" + entry +
                  "\": of another optimizer; a state saved from the same "
                  "model and optimizer is accepted");
}

void GroupedOptimizer::LoadState(const std::vector<NamedTensor>& state) {
  const at::NoGradGuard no_grad;
  StateMap saved;
  for (const NamedTensor& entry : state) {
    RequireOwn(entry.name);
    saved[entry.name] = entry.tensor;
  }
  const int64_t num_steps = ReadSteps(Require(saved, "step"), "step");
  std::vector<Slot> slots(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, parameter] = parameters_[i];
    const auto own = saved.find("step." + name);
    slots[i].group = slots_[i].group;
    slots[i].steps =
        own == saved.end() ? num_steps : ReadSteps(own->second, own->first);
    if (slots[i].steps == 0) continue;
    if (!scalar_name().empty()) {
      const std::string key = scalar_name() + "." + name;
      slots[i].scalar = ReadNumber(Require(saved, key), key);
    }
    for (const std::string& state_name : state_names_) {
      const std::string key = state_name + "." + name;
      slots[i].states.push_back(CopyLike(Require(saved, key), parameter, key));
    }
  }
  // Settings restored before it may be those of an optimizer that has one.
  for (Group& group : groups_) {
    if (!has_momentum_) group.momentum = group.initial_momentum = 0.0;
  }
  num_steps_ = num_steps;
  slots_ = std::move(slots);
  is_bundled_ = false;
}

}  // namespace epochd::engine
