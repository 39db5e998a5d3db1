// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/sharded.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// Rank of each parameter: largest first, to the rank that has least.
std::vector<int> ShareOut(const std::vector<NamedTensor>& parameters,
                          int world_size) {
  std::vector<size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return parameters[a].tensor.numel() > parameters[b].tensor.numel();
  });
  std::vector<int64_t> loads(static_cast<size_t>(world_size), 0);
  std::vector<int> owners(parameters.size(), 0);
  for (const size_t index : order) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += parameters[index].tensor.numel();
    owners[index] = static_cast<int>(least - loads.begin());
  }
  return owners;
}

}  // namespace

ShardedOptimizer::ShardedOptimizer(std::shared_ptr<Optimizer> inner,
                                   Communicator& communicator)
    : inner_(std::move(inner)),
      communicator_(communicator),
      owners_(ShareOut(inner_->parameters(), communicator.world_size())) {
  if (inner_->needs_closure()) {
    throw Error(ErrorKind::kBadSpec,
                "experiment.ddp.shard_optimizer: true: this optimizer needs "
                "all parameters at once; one that updates each by itself is "
                "accepted");
  }
}

void ShardedOptimizer::Step() {
  const std::vector<NamedTensor>& parameters = inner_->parameters();
  // What has no gradient is not updated and gets no state.
  std::vector<at::Tensor> hidden(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (IsOwn(i)) continue;
    hidden[i] = std::exchange(parameters[i].tensor.mutable_grad(), {});
  }
  inner_->Step();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (hidden[i].defined()) parameters[i].tensor.mutable_grad() = hidden[i];
  }
  for (int rank = 0; rank < communicator_.world_size(); ++rank) {
    std::vector<at::Tensor> updated;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (owners_[i] == rank && parameters[i].tensor.grad().defined()) {
        updated.push_back(parameters[i].tensor);
      }
    }
    communicator_.Broadcast(std::move(updated), rank);
  }
}

int64_t ShardedOptimizer::ParameterOf(const std::string& entry) const {
  const size_t dot = entry.find('.');
  if (dot == std::string::npos) return -1;
  const std::string name = entry.substr(dot + 1);
  const std::vector<NamedTensor>& parameters = inner_->parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return static_cast<int64_t>(i);
  }
  return -1;
}

std::vector<NamedTensor> ShardedOptimizer::State() const {
  std::vector<NamedTensor> part;
  for (NamedTensor& each : inner_->State()) {
    const int64_t index = ParameterOf(each.name);
    if (index < 0 ? communicator_.rank() == 0
                  : IsOwn(static_cast<size_t>(index))) {
      part.push_back(std::move(each));
    }
  }
  return part;
}

void ShardedOptimizer::LoadState(const std::vector<NamedTensor>& state) {
  std::vector<NamedTensor> part;
  for (const NamedTensor& each : state) {
    const int64_t index = ParameterOf(each.name);
    if (index < 0 || IsOwn(static_cast<size_t>(index))) part.push_back(each);
  }
  // The others never stepped here.
  const std::vector<NamedTensor>& parameters = inner_->parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (IsOwn(i)) continue;
    part.push_back({"step." + parameters[i].name, at::zeros({1}, at::kDouble)});
  }
  inner_->LoadState(part);
}

}  // namespace epochd::engine
