// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/sequential.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/optim/sharded.h"

namespace epochd::engine {
namespace {

constexpr char kIndex[] = "sequence.index";
constexpr char kSteps[] = "sequence.steps";
// And the type of the one at work, where it is known.
constexpr char kType[] = "sequence.type.";

at::Tensor FromNumberOf(int64_t value) {
  return at::full({1}, static_cast<double>(value), at::kDouble);
}

bool HaveSameGroups(const Optimizer& one, const Optimizer& other) {
  const auto is_same = [](const auto& list, const auto& others, auto member) {
    return std::equal(list.begin(), list.end(), others.begin(), others.end(),
                      [member](const auto& a, const auto& b) {
                        return a.*member == b.*member;
                      });
  };
  return is_same(one.groups(), other.groups(),
                 &Optimizer::Group::num_parameters) &&
         is_same(one.parameters(), other.parameters(), &NamedTensor::name);
}

}  // namespace

SequentialOptimizer::SequentialOptimizer(
    std::vector<std::shared_ptr<Optimizer>> optimizers,
    std::vector<int64_t> milestones)
    : optimizers_(std::move(optimizers)), milestones_(std::move(milestones)) {
  for (size_t i = 1; i < optimizers_.size(); ++i) {
    const std::string place = "optimizers[" + std::to_string(i) + "]: ";
    if (std::find(optimizers_.begin(),
                  optimizers_.begin() + static_cast<ptrdiff_t>(i),
                  optimizers_[i]) !=
        optimizers_.begin() + static_cast<ptrdiff_t>(i)) {
      throw Error(ErrorKind::kBadSpec,
                  place +
                      "is there before; one of its own is accepted, as a "
                      "checkpoint holds the state of one");
    }
    if (!HaveSameGroups(*optimizers_.front(), *optimizers_[i])) {
      throw Error(ErrorKind::kBadSpec,
                  place +
                      "has other groups of parameters than the first one; "
                      "the same are accepted");
    }
  }
  groups_ = AtWork().groups();
}

void SequentialOptimizer::PassSettings() {
  for (size_t i = 0; i < groups_.size(); ++i) {
    Group& group = AtWork().groups()[i];
    group.lr = groups_[i].lr;
    if (AtWork().has_momentum()) group.momentum = groups_[i].momentum;
    group.weight_decay = groups_[i].weight_decay;
  }
}

void SequentialOptimizer::CountStep() {
  ++num_steps_;
  TakeOver();
}

void SequentialOptimizer::TakeOver() {
  while (index_ < milestones_.size() && num_steps_ >= milestones_[index_]) {
    ++index_;
    groups_ = AtWork().groups();
  }
}

void SequentialOptimizer::Step() {
  PassSettings();
  AtWork().Step();
  CountStep();
}

at::Tensor SequentialOptimizer::Step(const Closure& closure) {
  PassSettings();
  at::Tensor loss = AtWork().Step(closure);
  CountStep();
  return loss;
}

bool SequentialOptimizer::may_need_closure() const {
  return std::any_of(optimizers_.begin(), optimizers_.end(),
                     [](const auto& each) { return each->may_need_closure(); });
}

void SequentialOptimizer::ScaleRates(double factor) {
  for (const auto& each : optimizers_) each->ScaleRates(factor);
  Optimizer::ScaleRates(factor);
}

std::vector<NamedTensor> SequentialOptimizer::State() const {
  std::vector<NamedTensor> state = AtWork().State();
  state.push_back({kIndex, FromNumberOf(static_cast<int64_t>(index_))});
  state.push_back({kSteps, FromNumberOf(num_steps_)});
  if (!AtWork().type().empty()) {
    state.push_back({kType + AtWork().type(), FromNumberOf(1)});
  }
  return state;
}

void SequentialOptimizer::LoadState(const std::vector<NamedTensor>& state) {
  std::vector<NamedTensor> inner;
  std::optional<int64_t> index;
  std::optional<int64_t> steps;
  std::string type;
  for (const NamedTensor& each : state) {
    if (each.name.starts_with(kType)) {
      type = each.name.substr(sizeof(kType) - 1);
      continue;
    }
    if (each.name != kIndex && each.name != kSteps) {
      inner.push_back(each);
      continue;
    }
    if (each.tensor.numel() != 1) {
      throw Error(ErrorKind::kBadSpec,
                  "optimizer state \"" + each.name + "\": no number");
    }
    (each.name == kIndex ? index : steps) =
        static_cast<int64_t>(each.tensor.item<double>());
  }
  const auto size = static_cast<int64_t>(optimizers_.size());
  if (index && (*index < 0 || *index >= size)) {
    throw Error(ErrorKind::kBadSpec,
                "optimizer state \"" + std::string(kIndex) +
                    "\": " + std::to_string(*index) + "; there are " +
                    std::to_string(size) + " optimizers, counted from 0");
  }
  const auto at_work = static_cast<size_t>(index.value_or(0));
  const std::string& own = optimizers_[at_work]->type();
  if (!type.empty() && !own.empty() && type != own) {
    throw Error(ErrorKind::kBadSpec,
                "optimizer state: of " + type + ", optimizers[" +
                    std::to_string(at_work) + "] is " + own +
                    "; one of the same type is accepted");
  }
  optimizers_[at_work]->LoadState(inner);
  index_ = at_work;
  num_steps_ = steps.value_or(AtWork().num_steps());
  // Where the job's milestones are others by now.
  TakeOver();
}

catalogue::Component SequentialOptimizerComponent() {
  return {.kind = "optimizer",
          .name = "SequentialOptimizer",
          .help = "optimizers one after another, such as Adam and then LBFGS",
          .parameters = {{.name = "optimizers",
                          .type = "list<component<optimizer>>",
                          .required = true,
                          .min_items = 2,
                          .help = "of the same parameters, in the same groups; "
                                  "each begins with its own rate"},
                         {.name = "milestones",
                          .type = "list<int>",
                          .required = true,
                          .min = 1,
                          .scalar_ok = true,
                          .order = catalogue::Parameter::Order::kRising,
                          .help = "steps in all after which the next one takes "
                                  "over"}},
          .rules = {{.check = catalogue::Rule::Check::kOneShorter,
                     .of = {"milestones", "optimizers"}}}};
}

std::shared_ptr<Optimizer> MakeSequentialOptimizer(const Params& params) {
  auto optimizers = params.MakeList<Optimizer>("optimizers");
  const std::vector<NamedTensor>& targets = params.OptimizerTargets();
  for (const auto& optimizer : optimizers) {
    if (dynamic_cast<const SequentialOptimizer*>(optimizer.get()) != nullptr) {
      params.Fail("optimizers",
                  "a SequentialOptimizer within one; its optimizers and "
                  "milestones in the outer one are accepted");
    }
    if (dynamic_cast<const ShardedOptimizer*>(optimizer.get()) != nullptr) {
      params.Fail("optimizers",
                  "with experiment.ddp.shard_optimizer: true, which shares out "
                  "the state of one optimizer; false is accepted");
    }
    for (const NamedTensor& each : optimizer->parameters()) {
      if (std::none_of(targets.begin(), targets.end(),
                       [&each](const NamedTensor& target) {
                         return target.tensor.is_same(each.tensor);
                       })) {
        params.Fail("optimizers",
                    "a side of a GAN has one optimizer for all of its steps");
      }
    }
  }
  return std::make_shared<SequentialOptimizer>(std::move(optimizers),
                                               params.Ints("milestones"));
}

}  // namespace epochd::engine
