// SPDX-License-Identifier: Apache-2.0
//
// PowerSGD (Vogels, Karimireddy, Jaggi: "PowerSGD: Practical Low-Rank Gradient
// Compression for Distributed Optimization", 2019, algorithm 1), with the
// choices of torch.distributed's powerSGD_hook. For each gradient matrix M
// [n, m] (the first dimension against the others), rank r = min(n, m, rank),
// on W ranks:
//
//   M += error                     what the last step lost, on this rank
//   Q = orthonormal(Q)             [m, r], from the last step, or random
//   P = orthonormal(sum(M Q))      [n, r]
//   Q = sum(M^T P) / W
//   gradient = P Q^T;  error = M - gradient
//
// Vectors, and matrices where (n + m) r min_compression_rate >= n m, are
// averaged as they are. The first start_step synced steps compress nothing.
// State belongs to this rank (error) or is equal on all (P, Q). Used from the
// thread that differentiates.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/dist/sync_options.h"

namespace epochd::engine {

class PowerSgd {
 public:
  PowerSgd(c10::intrusive_ptr<c10d::ProcessGroup> group,
           const PowerSgdOptions& options)
      : group_(std::move(group)), options_(options) {}

  // Averages the bucket over ranks, in its own buffer.
  at::Tensor Average(c10d::GradBucket& bucket);

  // {"steps": synced steps done}.
  nlohmann::ordered_json State() const { return {{"steps", steps_}}; }
  void LoadState(const nlohmann::ordered_json& state) {
    steps_ = state.at("steps").get<int64_t>();
  }
  // "power_sgd.<bucket>.error", ".p" and ".q".
  std::vector<NamedTensor> Tensors() const;
  void LoadTensors(const std::vector<NamedTensor>& saved);

 private:
  struct Memory {
    at::Tensor error;
    // Factors of all matrices of a bucket, one after the other.
    at::Tensor p;
    at::Tensor q;
  };
  void Sum(at::Tensor& tensor);
  void Compress(c10d::GradBucket& bucket, Memory& memory);
  // Whether a matrix is worth it; `r`: rank of its factors.
  bool IsCompressed(int64_t n, int64_t m, int64_t r) const;

  const c10::intrusive_ptr<c10d::ProcessGroup> group_;
  const PowerSgdOptions options_;
  int64_t steps_ = 0;
  std::map<size_t, Memory> memories_;  // by bucket
};

// Makes the columns of [n, r] orthonormal, in place: Gram-Schmidt to r = 2, QR
// above, as torch's hook.
void Orthonormalise(at::Tensor matrix, double epsilon);

std::unique_ptr<c10d::CommHookInterface> MakePowerSgdHook(
    std::shared_ptr<PowerSgd> power_sgd);

}  // namespace epochd::engine
