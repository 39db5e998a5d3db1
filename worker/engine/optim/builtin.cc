// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/builtin.h"

#include <string>
#include <tuple>
#include <utility>

#include "worker/engine/optim/adagrad.h"
#include "worker/engine/optim/adam.h"
#include "worker/engine/optim/adamax.h"
#include "worker/engine/optim/declarations.h"
#include "worker/engine/optim/group_rules.h"
#include "worker/engine/optim/lbfgs.h"
#include "worker/engine/optim/lion.h"
#include "worker/engine/optim/nadam.h"
#include "worker/engine/optim/radam.h"
#include "worker/engine/optim/rmsprop.h"
#include "worker/engine/optim/sgd.h"

namespace epochd::engine {
namespace {

using Made = std::unique_ptr<Optimizer>;

std::pair<double, double> ReadBetas(const Params& params) {
  const std::vector<double> betas = params.Floats("betas");
  return {betas[0], betas[1]};
}

// What most of them have.
template <class Options>
Options ReadCommon(const Params& params) {
  Options options;
  options.lr = params.Float("lr");
  options.weight_decay = params.Float("weight_decay");
  options.maximize = params.Bool("maximize");
  if constexpr (requires { options.beta1; }) {
    std::tie(options.beta1, options.beta2) = ReadBetas(params);
  }
  if constexpr (requires { options.eps; }) options.eps = params.Float("eps");
  if constexpr (requires { options.decoupled_weight_decay; }) {
    options.decoupled_weight_decay = params.Has("decoupled_weight_decay") &&
                                     params.Bool("decoupled_weight_decay");
  }
  return options;
}

// One that has nothing else.
template <class T>
Made MakeCommon(const Params& params, const ParameterGroups& groups) {
  return std::make_unique<T>(groups, ReadCommon<typename T::Options>(params));
}

Made MakeSgd(const Params& params, const ParameterGroups& groups) {
  Sgd::Options options = ReadCommon<Sgd::Options>(params);
  options.momentum = params.Float("momentum");
  options.dampening = params.Float("dampening");
  options.nesterov = params.Bool("nesterov");
  return std::make_unique<Sgd>(groups, options);
}

template <bool decoupled>
Made MakeAdam(const Params& params, const ParameterGroups& groups) {
  Adam::Options options = ReadCommon<Adam::Options>(params);
  options.amsgrad = params.Bool("amsgrad");
  if (decoupled) options.decoupled_weight_decay = true;
  return std::make_unique<Adam>(groups, options);
}

Made MakeAdagrad(const Params& params, const ParameterGroups& groups) {
  Adagrad::Options options = ReadCommon<Adagrad::Options>(params);
  options.lr_decay = params.Float("lr_decay");
  options.initial_accumulator_value = params.Float("initial_accumulator_value");
  return std::make_unique<Adagrad>(groups, options);
}

Made MakeRmsprop(const Params& params, const ParameterGroups& groups) {
  Rmsprop::Options options = ReadCommon<Rmsprop::Options>(params);
  options.alpha = params.Float("alpha");
  options.momentum = params.Float("momentum");
  options.centered = params.Bool("centered");
  return std::make_unique<Rmsprop>(groups, options);
}

Made MakeNadam(const Params& params, const ParameterGroups& groups) {
  Nadam::Options options = ReadCommon<Nadam::Options>(params);
  options.momentum_decay = params.Float("momentum_decay");
  return std::make_unique<Nadam>(groups, options);
}

Made MakeLbfgs(const Params& params, const ParameterGroups& groups) {
  Lbfgs::Options options;
  options.lr = params.Float("lr");
  options.max_iter = params.Int("max_iter");
  options.max_eval = params.OptionalInt("max_eval");
  options.tolerance_grad = params.Float("tolerance_grad");
  options.tolerance_change = params.Float("tolerance_change");
  options.history_size = params.Int("history_size");
  options.strong_wolfe = params.Has("line_search_fn");
  return std::make_unique<Lbfgs>(groups, options);
}

}  // namespace

std::vector<OptimizerEntry> BuiltinOptimizers() {
  using namespace optimizer_declarations;
  std::vector<OptimizerEntry> entries = {
      {SgdComponent(), &MakeSgd},
      {AdamComponent(), &MakeAdam<false>},
      {AdamwComponent(), &MakeAdam<true>},
      {AdagradComponent(), &MakeAdagrad},
      {RmspropComponent(), &MakeRmsprop},
      {NadamComponent(), &MakeNadam},
      {RadamComponent(), &MakeCommon<Radam>},
      {AdamaxComponent(), &MakeCommon<Adamax>},
      {LionComponent(), &MakeCommon<Lion>},
      {LbfgsComponent(), &MakeLbfgs},
  };
  for (OptimizerEntry& entry : entries) {
    for (catalogue::Parameter& parameter : GroupParameters()) {
      entry.component.parameters.push_back(std::move(parameter));
    }
  }
  return entries;
}

std::unique_ptr<Optimizer> MakeOptimizer(
    const OptimizerEntry& entry, const Params& params,
    const std::vector<NamedTensor>& parameters) {
  CommonSettings base{.lr = params.Float("lr")};
  if (params.Has("weight_decay")) {
    base.weight_decay = params.Float("weight_decay");
  }
  const std::vector<GroupRule> rules = ReadGroupRules(params);
  return entry.make(params, MakeGroups(parameters, rules, base));
}

}  // namespace epochd::engine
