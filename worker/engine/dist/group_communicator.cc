// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/group_communicator.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

#include "worker/engine/dist/reducer_sync.h"

namespace epochd::engine {
namespace {

// In the store: what the first rank that failed told, and how many ranks know
// of it.
constexpr char kFailedKey[] = "epochd/failed";
constexpr char kHeardKey[] = "epochd/heard";
// How long rank 0 stays for the others' sake.
constexpr std::chrono::seconds kLastService{2};

}  // namespace

GroupCommunicator::GroupCommunicator(
    c10::intrusive_ptr<c10d::Store> store,
    c10::intrusive_ptr<c10d::ProcessGroup> control,
    c10::intrusive_ptr<c10d::ProcessGroup> gradients)
    : store_(std::move(store)),
      control_(std::move(control)),
      gradients_(std::move(gradients)) {}

GroupCommunicator::~GroupCommunicator() = default;

void GroupCommunicator::Broadcast(std::vector<at::Tensor> tensors, int root) {
  if (tensors.empty()) return;
  c10::NoGradGuard no_grad;
  for (at::Tensor& tensor : tensors) tensor = tensor.detach();
  WithPeers("broadcast", [&] {
    c10d::broadcast_coalesced(gradients_, tensors, 250 << 20, root);
  });
}

void GroupCommunicator::AllReduceSum(at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  WithPeers("sum over ranks", [&] {
    std::vector<at::Tensor> tensors{tensor};
    control_->allreduce(tensors)->wait();
  });
}

std::vector<int64_t> GroupCommunicator::Lengths(int64_t own) {
  at::Tensor lengths = at::zeros({world_size()}, at::kLong);
  int64_t* values = lengths.data_ptr<int64_t>();
  values[rank()] = own;
  AllReduceSum(lengths);
  return std::vector<int64_t>(values, values + world_size());
}

namespace {

at::Tensor ToBytes(const std::string& bytes, int64_t length) {
  at::Tensor tensor = at::zeros({length}, at::kByte);
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

std::vector<at::Tensor> EmptyRows(size_t count, int64_t length) {
  std::vector<at::Tensor> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back(at::empty({length}, at::kByte));
  }
  return rows;
}

std::vector<std::string> ToStrings(const std::vector<at::Tensor>& rows,
                                   const std::vector<int64_t>& lengths) {
  std::vector<std::string> strings;
  for (size_t i = 0; i < rows.size(); ++i) {
    strings.emplace_back(static_cast<const char*>(rows[i].const_data_ptr()),
                         static_cast<size_t>(lengths[i]));
  }
  return strings;
}

int64_t Longest(const std::vector<int64_t>& lengths) {
  return std::max<int64_t>(*std::max_element(lengths.begin(), lengths.end()),
                           1);
}

}  // namespace

std::vector<std::string> GroupCommunicator::Gather(const std::string& bytes) {
  const std::vector<int64_t> lengths =
      Lengths(static_cast<int64_t>(bytes.size()));
  std::vector<std::vector<at::Tensor>> rows{
      EmptyRows(lengths.size(), Longest(lengths))};
  std::vector<at::Tensor> own{ToBytes(bytes, Longest(lengths))};
  WithPeers("gather", [&] { control_->allgather(rows, own)->wait(); });
  return ToStrings(rows[0], lengths);
}

std::vector<std::string> GroupCommunicator::GatherAtRoot(
    const std::string& bytes) {
  const std::vector<int64_t> lengths =
      Lengths(static_cast<int64_t>(bytes.size()));
  std::vector<std::vector<at::Tensor>> rows;
  if (rank() == 0) rows.push_back(EmptyRows(lengths.size(), Longest(lengths)));
  std::vector<at::Tensor> own{ToBytes(bytes, Longest(lengths))};
  c10d::GatherOptions options;
  options.rootRank = 0;
  WithPeers("gather", [&] { control_->gather(rows, own, options)->wait(); });
  return rank() == 0 ? ToStrings(rows[0], lengths) : std::vector<std::string>();
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
    std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
    const SyncOptions& options, const nlohmann::ordered_json& state) {
  return MakeReducerSync(gradients_, std::move(parameters), std::move(buffers),
                         options, state);
}

void GroupCommunicator::TellFailure(const std::string& message) {
  const std::string text = "rank " + std::to_string(rank()) + ": " + message;
  try {
    // Sets it only where nobody did.
    store_->compareSet(kFailedKey, {},
                       std::vector<uint8_t>(text.begin(), text.end()));
    store_->add(kHeardKey, 1);
  } catch (const std::exception&) {
    // The rank that serves the store is gone, and so needs not be told.
  }
}

std::string GroupCommunicator::FirstFailure() {
  std::string first;
  try {
    if (store_->check({kFailedKey})) {
      const std::vector<uint8_t> text = store_->get(kFailedKey);
      first.assign(text.begin(), text.end());
    }
    store_->add(kHeardKey, 1);
    // Serves the store until the others have read it too.
    const auto deadline = std::chrono::steady_clock::now() + kLastService;
    while (rank() == 0 && store_->add(kHeardKey, 0) < world_size() &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (const std::exception&) {
    if (first.empty() && rank() != 0) {
      first = "rank 0: it is gone, and with it the rendezvous";
    }
  }
  return first;
}

}  // namespace epochd::engine
