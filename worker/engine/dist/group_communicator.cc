// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/group_communicator.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstring>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

#include "worker/engine/dist/reducer_sync.h"

namespace epochd::engine {

GroupCommunicator::GroupCommunicator(
    c10::intrusive_ptr<c10d::Store> store,
    c10::intrusive_ptr<c10d::ProcessGroup> control,
    c10::intrusive_ptr<c10d::ProcessGroup> gradients)
    : store_(std::move(store)),
      control_(std::move(control)),
      gradients_(std::move(gradients)) {}

GroupCommunicator::~GroupCommunicator() = default;

void GroupCommunicator::Broadcast(std::vector<at::Tensor> tensors) {
  if (tensors.empty()) return;
  c10::NoGradGuard no_grad;
  for (at::Tensor& tensor : tensors) tensor = tensor.detach();
  WithPeers("broadcast", [&] {
    c10d::broadcast_coalesced(gradients_, tensors, 250 << 20, 0);
  });
}

void GroupCommunicator::AllReduceSum(at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  WithPeers("sum over ranks", [&] {
    std::vector<at::Tensor> tensors{tensor};
    control_->allreduce(tensors)->wait();
  });
}

std::vector<std::string> GroupCommunicator::Gather(const std::string& bytes) {
  const int64_t world = world_size();
  at::Tensor lengths = at::zeros({world}, at::kLong);
  lengths.data_ptr<int64_t>()[rank()] = static_cast<int64_t>(bytes.size());
  AllReduceSum(lengths);
  const int64_t longest = std::max<int64_t>(lengths.max().item<int64_t>(), 1);
  std::vector<std::vector<at::Tensor>> rows(1);
  for (int64_t i = 0; i < world; ++i) {
    rows[0].push_back(at::empty({longest}, at::kByte));
  }
  std::vector<at::Tensor> own{at::zeros({longest}, at::kByte)};
  std::memcpy(own[0].data_ptr(), bytes.data(), bytes.size());
  WithPeers("gather", [&] { control_->allgather(rows, own)->wait(); });
  std::vector<std::string> gathered;
  for (int64_t i = 0; i < world; ++i) {
    gathered.emplace_back(
        static_cast<const char*>(rows[0][i].const_data_ptr()),
        static_cast<size_t>(lengths.const_data_ptr<int64_t>()[i]));
  }
  return gathered;
}

void GroupCommunicator::Barrier() {
  // A sum is a barrier on every backend.
  at::Tensor one = at::ones({1}, at::kLong);
  AllReduceSum(one);
}

void GroupCommunicator::StartSum(at::Tensor tensor) {
  WithPeers("sum over ranks", [&] {
    std::vector<at::Tensor> tensors{std::move(tensor)};
    started_ = control_->allreduce(tensors);
  });
}

void GroupCommunicator::FinishSum() {
  if (!started_) return;
  WithPeers("sum over ranks", [&] { started_->wait(); });
  started_.reset();
}

std::unique_ptr<GradientSync> GroupCommunicator::SyncGradients(
    std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers,
    const nlohmann::ordered_json& state) {
  return MakeReducerSync(gradients_, std::move(parameters), std::move(buffers),
                         state);
}

}  // namespace epochd::engine
