// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/reducer_sync.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

using Buckets = std::vector<std::vector<size_t>>;

// As in torch's DistributedDataParallel.
constexpr size_t kFirstBucketBytes = 1 << 20;
constexpr size_t kBucketBytes = 25 << 20;

// Reaches what the reducer keeps to itself: the buckets in use, and whether
// they were regrouped.
class OpenReducer : public c10d::Reducer {
 public:
  using c10d::Reducer::Reducer;

  Buckets buckets() const {
    Buckets indices;
    for (const Bucket& bucket : buckets_) {
      indices.push_back(bucket.variable_indices);
    }
    return indices;
  }
  bool is_regrouped() const { return has_rebuilt_bucket_; }
  void KeepBuckets() { has_rebuilt_bucket_ = true; }
};

class ReducerSync : public GradientSync {
 public:
  ReducerSync(c10::intrusive_ptr<c10d::ProcessGroup> group,
              std::vector<at::Tensor> parameters,
              std::vector<at::Tensor> buffers,
              const nlohmann::ordered_json& state)
      : group_(std::move(group)), buffers_(std::move(buffers)) {
    std::erase_if(parameters,
                  [](const at::Tensor& each) { return !each.requires_grad(); });
    const bool is_restored =
        state.is_object() && state.value("regrouped", false);
    Buckets buckets;
    std::vector<size_t> limits;
    if (is_restored) {
      buckets = state.at("buckets").get<Buckets>();
      limits.assign(buckets.size(), kBucketBytes);
    } else {
      std::tie(buckets, limits) = c10d::compute_bucket_assignment_by_size(
          parameters, {kFirstBucketBytes, kBucketBytes});
      // Gradients become ready from the last layer to the first.
      std::reverse(buckets.begin(), buckets.end());
      std::reverse(limits.begin(), limits.end());
    }
    const size_t count = parameters.size();
    reducer_ = std::make_shared<OpenReducer>(
        std::move(parameters), std::move(buckets), group_,
        std::vector<bool>(count, false), kBucketBytes,
        /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/false,
        std::unordered_map<size_t, std::string>{}, kFirstBucketBytes,
        /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
        std::vector<int64_t>(limits.begin(), limits.end()));
    if (is_restored) reducer_->KeepBuckets();
  }

  ~ReducerSync() override { reducer_->remove_autograd_hooks(); }

  void BeforeForward() override {
    reducer_->prepare_for_forward();
    BroadcastBuffers();
  }

  void Backward(const at::Tensor& loss, bool sync) override {
    if (sync) reducer_->prepare_for_backward({});
    WithPeers("gradients", [&] {
      loss.backward();
      // Regroups after the first step of all, not before the second, so that a
      // checkpoint between the two holds what the second will use.
      if (sync) reducer_->rebuild_buckets();
    });
  }

  void BroadcastBuffers() override {
    if (buffers_.empty()) return;
    WithPeers("buffers", [&] {
      c10d::broadcast_coalesced(group_, buffers_, 250 << 20, 0);
    });
  }

  nlohmann::ordered_json State() const override {
    return {{"regrouped", reducer_->is_regrouped()},
            {"buckets", reducer_->buckets()}};
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::vector<at::Tensor> buffers_;
  std::shared_ptr<OpenReducer> reducer_;
};

}  // namespace

std::unique_ptr<GradientSync> MakeReducerSync(
    c10::intrusive_ptr<c10d::ProcessGroup> group,
    std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers,
    const nlohmann::ordered_json& state) {
  return std::make_unique<ReducerSync>(std::move(group), std::move(parameters),
                                       std::move(buffers), state);
}

bool IsPeerProblem(const std::string& message) {
  constexpr std::array<std::string_view, 9> kSigns = {
      "gloo",       "Gloo",      "NCCL",     "peer",  "Connection",
      "connection", "timed out", "TCPStore", "socket"};
  return std::any_of(kSigns.begin(), kSigns.end(), [&](std::string_view sign) {
    return message.find(sign) != std::string::npos;
  });
}

void ThrowPeerProblem(const char* what, const std::string& cause) {
  throw Error(ErrorKind::kInfrastructure,
              std::string(what) + ": a rank is gone or does not answer: " +
                  cause.substr(0, cause.find('\n')));
}

}  // namespace epochd::engine
