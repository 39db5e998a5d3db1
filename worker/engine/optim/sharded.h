// SPDX-License-Identifier: Apache-2.0
//
// ShardedOptimizer: an optimizer whose state is spread over the ranks (ZeRO
// stage 1: Rajbhandari, Rasley, Ruwase, He, "ZeRO: Memory Optimizations Toward
// Training Trillion Parameter Models", 2020). Each parameter belongs to one
// rank, largest first to the rank that has least so far. A step updates the own
// parameters alone, so that only they get a state, and sends them to the
// others. Gradients are there on all ranks, averaged, as without it; results
// are the same bits.
//
// Checkpoints hold the whole state under the names that it has without
// sharding: a run goes on with or without it, and on any number of ranks. One
// thread, collective: all ranks step together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/optimizer.h"
#include "worker/engine/dist/communicator.h"

namespace epochd::engine {

class ShardedOptimizer : public Optimizer {
 public:
  // `communicator` outlives this. Throws Error(kBadSpec) for an optimizer that
  // needs all parameters at once.
  ShardedOptimizer(std::shared_ptr<Optimizer> inner,
                   Communicator& communicator);

  void Step() override;
  using Optimizer::Step;
  void ZeroGrad() override { inner_->ZeroGrad(); }
  int64_t num_steps() const override { return inner_->num_steps(); }
  std::vector<Group>& groups() override { return inner_->groups(); }
  const std::vector<Group>& groups() const override {
    return const_cast<const Optimizer&>(*inner_).groups();
  }
  const std::vector<NamedTensor>& parameters() const override {
    return inner_->parameters();
  }
  bool has_momentum() const override { return inner_->has_momentum(); }
  // Of the own parameters; what belongs to none of them is rank 0's. The parts
  // of all ranks together are the state of an optimizer that is not sharded.
  std::vector<NamedTensor> State() const override;
  // Takes the whole, keeps the own part.
  void LoadState(const std::vector<NamedTensor>& state) override;

 private:
  bool IsOwn(size_t index) const {
    return owners_[index] == communicator_.rank();
  }
  // The parameter that an entry of the state is of; -1: none.
  int64_t ParameterOf(const std::string& entry) const;

  const std::shared_ptr<Optimizer> inner_;
  Communicator& communicator_;
  std::vector<int> owners_;  // rank of each parameter
};

}  // namespace epochd::engine
