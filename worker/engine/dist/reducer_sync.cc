// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/reducer_sync.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/dist/compression.h"
#include "worker/engine/dist/power_sgd.h"

namespace epochd::engine {
namespace {

using Buckets = std::vector<std::vector<size_t>>;

// As in torch's DistributedDataParallel.
constexpr int64_t kFirstBucketBytes = 1 << 20;
// Of tensors that are broadcast together.
constexpr size_t kBroadcastBytes = 250 << 20;
constexpr char kBuffer[] = "buffer.";

std::vector<at::Tensor> TensorsOf(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& each : named) tensors.push_back(each.tensor);
  return tensors;
}

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
  // Without this it tells its logger, which is Python's and not there, when
  // other parameters are unused than before.
  void ExpectChanges() { ddp_graph_static_ = false; }
  // Whether a synced pass left gradients that were waited for in vain.
  bool is_waiting() const { return require_finalize_; }
  // Differentiates without a sum over ranks. A static graph counts backward
  // passes, and how often each gradient comes in the first one: a pass that is
  // not synced must not be counted (pytorch#187732).
  void BackwardUncounted(const at::Tensor& loss) {
    const auto num_calls = num_bwd_calls_;
    const bool was_called = first_autograd_hook_called_;
    const auto triggered = numGradHooksTriggeredMap_;
    loss.backward();
    num_bwd_calls_ = num_calls;
    first_autograd_hook_called_ = was_called;
    numGradHooksTriggeredMap_ = triggered;
  }
};

class ReducerSync : public GradientSync {
 public:
  ReducerSync(c10::intrusive_ptr<c10d::ProcessGroup> group,
              std::vector<NamedTensor> parameters,
              std::vector<NamedTensor> buffers, const SyncOptions& options,
              const nlohmann::ordered_json& state)
      : group_(std::move(group)),
        parameters_(std::move(parameters)),
        buffers_(std::move(buffers)),
        options_(options) {
    std::erase_if(parameters_, [](const NamedTensor& each) {
      return !each.tensor.requires_grad();
    });
    if (parameters_.empty()) return;
    const bool is_restored =
        state.is_object() && state.value("regrouped", false);
    const std::vector<at::Tensor> tensors = TensorsOf(parameters_);
    const auto limit = static_cast<size_t>(options_.bucket_bytes);
    const auto first_limit =
        static_cast<size_t>(std::min(kFirstBucketBytes, options_.bucket_bytes));
    Buckets buckets;
    std::vector<size_t> limits;
    if (is_restored) {
      buckets = state.at("buckets").get<Buckets>();
      limits.assign(buckets.size(), limit);
    } else {
      std::tie(buckets, limits) = c10d::compute_bucket_assignment_by_size(
          tensors, {first_limit, limit});
      // Gradients become ready from the last layer to the first.
      std::reverse(buckets.begin(), buckets.end());
      std::reverse(limits.begin(), limits.end());
    }
    std::unordered_map<size_t, std::string> names;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      names[i] = parameters_[i].name;
    }
    reducer_ = std::make_shared<OpenReducer>(
        tensors, std::move(buckets), group_,
        std::vector<bool>(tensors.size(), false), options_.bucket_bytes,
        options_.find_unused_parameters, /*gradient_as_bucket_view=*/false,
        std::move(names), static_cast<int64_t>(first_limit),
        /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
        std::vector<int64_t>(limits.begin(), limits.end()));
    // The first step of a static graph tells no order, also not one that comes
    // after a restart.
    if (is_restored || options_.static_graph) reducer_->KeepBuckets();
    if (options_.static_graph) reducer_->set_static_graph();
    if (options_.find_unused_parameters) reducer_->ExpectChanges();
    RegisterHook();
    if (power_sgd_ && state.is_object() && state.contains("power_sgd")) {
      power_sgd_->LoadState(state.at("power_sgd"));
    }
  }

  ~ReducerSync() override {
    if (reducer_) reducer_->remove_autograd_hooks();
  }

  void BeforeForward(bool sync) override {
    if (sync && reducer_) {
      reducer_->prepare_for_forward();
      ++num_synced_;
    }
    if (options_.buffers == BufferSync::kBroadcast) BroadcastBuffers();
  }

  void Backward(const at::Tensor& loss, bool sync) override {
    if (!reducer_ || (!sync && !options_.static_graph)) {
      loss.backward();
      return;
    }
    if (!sync) {
      reducer_->BackwardUncounted(loss);
      return;
    }
    reducer_->prepare_for_backward(options_.find_unused_parameters
                                       ? std::vector<at::Tensor>{loss}
                                       : std::vector<at::Tensor>{});
    WithPeers("gradients", [&] {
      loss.backward();
      if (options_.static_graph && num_synced_ == 1) {
        reducer_->delay_all_reduce();
      }
      if (reducer_->is_waiting()) ThrowUnused();
      // Regroups after the first step of all, not before the second, so that a
      // checkpoint between the two holds what the second will use.
      reducer_->rebuild_buckets();
    });
  }

  void SyncBuffers() override {
    if (options_.buffers == BufferSync::kBroadcast) BroadcastBuffers();
    if (options_.buffers == BufferSync::kMean) AverageBuffers();
  }

  at::Tensor Sum(at::Tensor value) override {
    std::vector<at::Tensor> values{std::move(value)};
    WithPeers("sum over ranks", [&] { group_->allreduce(values)->wait(); });
    return values.front();
  }

  int num_ranks() const override { return group_->getSize(); }

  nlohmann::ordered_json State() const override {
    if (!reducer_) return nullptr;
    nlohmann::ordered_json state = {{"regrouped", reducer_->is_regrouped()},
                                    {"buckets", reducer_->buckets()}};
    if (power_sgd_) state["power_sgd"] = power_sgd_->State();
    return state;
  }

  std::vector<NamedTensor> OwnTensors() const override {
    std::vector<NamedTensor> own;
    if (power_sgd_) own = power_sgd_->Tensors();
    if (options_.buffers == BufferSync::kBroadcast) return own;
    for (const NamedTensor& each : buffers_) {
      own.push_back({kBuffer + each.name, each.tensor});
    }
    return own;
  }

  void LoadOwnTensors(const std::vector<NamedTensor>& saved) override {
    c10::NoGradGuard no_grad;
    if (power_sgd_) power_sgd_->LoadTensors(saved);
    if (options_.buffers == BufferSync::kBroadcast) return;
    for (NamedTensor& each : buffers_) {
      for (const NamedTensor& other : saved) {
        if (other.name == kBuffer + each.name) each.tensor.copy_(other.tensor);
      }
    }
  }

 private:
  void RegisterHook() {
    switch (options_.compression) {
      case Compression::kNone:
        return;
      case Compression::kFp16:
        reducer_->register_builtin_comm_hook(
            c10d::BuiltinCommHookType::FP16_COMPRESS);
        return;
      case Compression::kBf16:
        reducer_->register_comm_hook(MakeBf16Hook(group_));
        return;
      case Compression::kPowerSgd:
        power_sgd_ = std::make_shared<PowerSgd>(group_, options_.power_sgd);
        reducer_->register_comm_hook(MakePowerSgdHook(power_sgd_));
        return;
    }
  }

  [[noreturn]] void ThrowUnused() const {
    std::string unused;
    for (const NamedTensor& each : parameters_) {
      if (each.tensor.grad().defined()) continue;
      unused += (unused.empty() ? "\"" : ", \"") + each.name + "\"";
    }
    throw Error(ErrorKind::kBadSpec,
                "experiment.ddp: " + (unused.empty() ? "parameters" : unused) +
                    " got no gradient in this step; with several ranks, "
                    "find_unused_parameters: true allows for that");
  }

  void BroadcastBuffers() {
    if (buffers_.empty()) return;
    WithPeers("buffers", [&] {
      c10d::broadcast_coalesced(group_, TensorsOf(buffers_), kBroadcastBytes,
                                0);
    });
  }

  void AverageBuffers() {
    c10::NoGradGuard no_grad;
    std::vector<at::Tensor> flat;
    for (const NamedTensor& each : buffers_) {
      if (each.tensor.is_floating_point()) {
        flat.push_back(each.tensor.detach().to(at::kDouble).flatten());
      }
    }
    if (flat.empty()) return;
    std::vector<at::Tensor> all{at::cat(flat)};
    WithPeers("buffers", [&] { group_->allreduce(all)->wait(); });
    all[0].div_(group_->getSize());
    int64_t offset = 0;
    for (const NamedTensor& each : buffers_) {
      if (!each.tensor.is_floating_point()) continue;
      const int64_t size = each.tensor.numel();
      each.tensor.detach().copy_(
          all[0].slice(0, offset, offset + size).view(each.tensor.sizes()));
      offset += size;
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::vector<NamedTensor> parameters_;  // those that are trained
  std::vector<NamedTensor> buffers_;
  const SyncOptions options_;
  std::shared_ptr<PowerSgd> power_sgd_;
  std::shared_ptr<OpenReducer> reducer_;  // nullptr: nothing is trained
  int64_t num_synced_ = 0;                // passes, of this run
};

}  // namespace

std::unique_ptr<GradientSync> MakeReducerSync(
    c10::intrusive_ptr<c10d::ProcessGroup> group,
    std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
    const SyncOptions& options, const nlohmann::ordered_json& state) {
  return std::make_unique<ReducerSync>(std::move(group), std::move(parameters),
                                       std::move(buffers), options, state);
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
  throw PeerError(std::string(what) + ": a rank is gone or does not answer: " +
                  cause.substr(0, cause.find('\n')));
}

}  // namespace epochd::engine
