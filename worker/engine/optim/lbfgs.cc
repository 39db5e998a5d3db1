// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/lbfgs.h"

#include <ATen/ATen.h>
#include <torch/optim/lbfgs.h>

#include <deque>
#include <limits>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/scalar.h"

namespace epochd::engine {
namespace {

using TorchState = torch::optim::LBFGSParamState;

[[noreturn]] void RefuseState(const std::string& name,
                              const std::string& problem) {
  throw Error(ErrorKind::kBadSpec,
              "optimizer state \"" + name + "\": " + problem);
}

bool AreFinite(const std::vector<NamedTensor>& parameters) {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& each : parameters) {
    if (each.tensor.numel() > 0) tensors.push_back(each.tensor);
  }
  if (tensors.empty()) return true;
  // The greatest elements: other norms may overflow.
  return IsFinite(at::stack(
      at::_foreach_norm(tensors, std::numeric_limits<double>::infinity())));
}

at::Tensor FromDouble(double value) {
  return at::full({1}, value, at::kDouble);
}

std::vector<at::Tensor> TensorsIn(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& each : parameters) tensors.push_back(each.tensor);
  return tensors;
}

torch::optim::LBFGSOptions ToTorch(const Lbfgs::Options& options) {
  torch::optim::LBFGSOptions result(options.lr);
  result.max_iter(options.max_iter);
  result.max_eval(options.max_eval);
  result.tolerance_grad(options.tolerance_grad);
  result.tolerance_change(options.tolerance_change);
  result.history_size(options.history_size);
  if (options.strong_wolfe) result.line_search_fn("strong_wolfe");
  return result;
}

}  // namespace

struct Lbfgs::Impl {
  Impl(std::vector<at::Tensor> parameters,
       const torch::optim::LBFGSOptions& options)
      : key(parameters.empty() ? nullptr
                               : parameters.front().unsafeGetTensorImpl()),
        optimizer(std::move(parameters), options) {}

  // Where LibTorch keeps the state: at the first parameter.
  void* const key;
  torch::optim::LBFGS optimizer;

  // nullptr: no step was done yet.
  const TorchState* state() const {
    const auto found = optimizer.state().find(key);
    return found == optimizer.state().end()
               ? nullptr
               : static_cast<const TorchState*>(found->second.get());
  }
};

Lbfgs::Lbfgs(const ParameterGroups& groups, const Options& options)
    : parameters_(groups.list().front().parameters),
      impl_(std::make_unique<Impl>(TensorsIn(parameters_), ToTorch(options))) {
  if (groups.list().size() != 1) {
    throw Error(ErrorKind::kBadSpec,
                "parameter_groups: LBFGS with " +
                    std::to_string(groups.list().size()) +
                    " groups of parameters; one is accepted");
  }
  const double lr = groups.list().front().lr.value_or(options.lr);
  groups_.push_back({.name = groups.list().front().name,
                     .num_parameters = parameters_.size(),
                     .lr = lr,
                     .initial_lr = lr});
}

Lbfgs::~Lbfgs() = default;

void Lbfgs::Step() {
  throw Error(ErrorKind::kBadSpec,
              "optimizer: LBFGS evaluates the loss several times a step, which "
              "this runner does not do; a TrainingRunner is accepted");
}

at::Tensor Lbfgs::Step(const Closure& closure) {
  if (parameters_.empty()) return closure();
  impl_->optimizer.param_groups().front().options().set_lr(groups_.front().lr);
  ++num_steps_;
  at::Tensor loss = impl_->optimizer.step(closure);
  // The loss stops being finite within the step, so the gradients before it do
  // not tell.
  if (!AreFinite(parameters_)) {
    throw Error(ErrorKind::kTraining,
                "optimizer: LBFGS made weights that are not finite in its "
                "step " +
                    std::to_string(num_steps_) +
                    "; a smaller lr, or line_search_fn: strong_wolfe, is "
                    "needed");
  }
  return loss;
}

void Lbfgs::ZeroGrad() {
  for (const NamedTensor& parameter : parameters_) {
    parameter.tensor.mutable_grad().reset();
  }
}

std::vector<NamedTensor> Lbfgs::State() const {
  std::vector<NamedTensor> state{
      {"step", FromDouble(static_cast<double>(num_steps_))}};
  const TorchState* const own = impl_->state();
  if (own == nullptr) return state;
  state.push_back(
      {"func_evals", FromDouble(static_cast<double>(own->func_evals()))});
  state.push_back({"n_iter", FromDouble(static_cast<double>(own->n_iter()))});
  state.push_back({"t", FromDouble(own->t())});
  state.push_back({"prev_loss", FromDouble(own->prev_loss())});
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    if (tensor.defined()) state.push_back({name, tensor});
  };
  add("d", own->d());
  add("H_diag", own->H_diag());
  add("prev_flat_grad", own->prev_flat_grad());
  const auto add_all = [&](const std::string& name,
                           const std::deque<at::Tensor>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      add(name + "." + std::to_string(i), tensors[i]);
    }
  };
  add_all("old_dirs", own->old_dirs());
  add_all("old_stps", own->old_stps());
  add_all("ro", own->ro());
  return state;
}

void Lbfgs::LoadState(const std::vector<NamedTensor>& state) {
  const at::NoGradGuard no_grad;
  std::unordered_map<std::string, at::Tensor> saved;
  for (const NamedTensor& each : state) saved[each.name] = each.tensor;
  const auto number = [&](const std::string& name) {
    const auto found = saved.find(name);
    if (found == saved.end() || found->second.numel() != 1) {
      RefuseState(name,
                  "not there, or no number; a state saved from LBFGS is "
                  "accepted");
    }
    return found->second.item<double>();
  };
  const auto num_steps = static_cast<int64_t>(number("step"));
  if (num_steps == 0 || parameters_.empty()) {
    impl_->optimizer.state().clear();
    num_steps_ = num_steps;
    return;
  }
  int64_t numel = 0;
  for (const NamedTensor& each : parameters_) numel += each.tensor.numel();
  const at::Tensor& like = parameters_.front().tensor;
  const auto tensor = [&](const std::string& name, int64_t size) {
    const auto found = saved.find(name);
    if (found == saved.end()) return at::Tensor();
    if (found->second.numel() != size) {
      RefuseState(name, "of " + std::to_string(found->second.numel()) +
                            " numbers; " + std::to_string(size) +
                            " are accepted");
    }
    return found->second.to(like.options().requires_grad(false),
                            /*non_blocking=*/false, /*copy=*/true);
  };
  const auto list = [&](const std::string& name, int64_t size) {
    std::deque<at::Tensor> tensors;
    for (;;) {
      at::Tensor next =
          tensor(name + "." + std::to_string(tensors.size()), size);
      if (!next.defined()) return tensors;
      tensors.push_back(std::move(next));
    }
  };
  auto loaded = std::make_unique<TorchState>();
  loaded->func_evals(static_cast<int64_t>(number("func_evals")));
  loaded->n_iter(static_cast<int64_t>(number("n_iter")));
  loaded->t(number("t"));
  loaded->prev_loss(number("prev_loss"));
  loaded->d(tensor("d", numel));
  loaded->H_diag(tensor("H_diag", 1));
  loaded->prev_flat_grad(tensor("prev_flat_grad", numel));
  loaded->old_dirs(list("old_dirs", numel));
  loaded->old_stps(list("old_stps", numel));
  loaded->ro(list("ro", 1));
  if (loaded->old_dirs().size() != loaded->old_stps().size() ||
      loaded->old_dirs().size() != loaded->ro().size()) {
    RefuseState("old_dirs", "not as many as old_stps and ro");
  }
  impl_->optimizer.state()[impl_->key] = std::move(loaded);
  num_steps_ = num_steps;
}

}  // namespace epochd::engine
