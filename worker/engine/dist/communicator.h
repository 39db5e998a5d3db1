// SPDX-License-Identifier: Apache-2.0
//
// Communicator: what the ranks of a run do together. One narrow class with a
// version for one process (dist/single.h), for CPUs (dist/gloo.h) and, in the
// GPU module, for NCCL. All ranks make the same calls in the same order, from
// the training thread. A peer that is gone, or that does not answer in time,
// is Error(kInfrastructure).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace epochd::engine {

// Makes gradients the mean over ranks. Bound to one set of parameters.
class GradientSync {
 public:
  virtual ~GradientSync() = default;

  // Before each forward pass of training; buffers become rank 0's.
  virtual void BeforeForward() = 0;
  // Differentiates. `sync`: gradients of this and the passes since the last
  // synced one are averaged over ranks; else they only add up here.
  virtual void Backward(const at::Tensor& loss, bool sync) = 0;
  // Gives all ranks the buffers of rank 0 (running means and variances).
  virtual void BroadcastBuffers() = 0;
  // What must be restored for sums to be taken in the same order again; null:
  // nothing.
  virtual nlohmann::ordered_json State() const = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Overwrites the tensors of every rank by those of rank 0.
  virtual void Broadcast(std::vector<at::Tensor> tensors) = 0;
  // Adds up over ranks, in place; a tensor on the CPU.
  virtual void AllReduceSum(at::Tensor& tensor) = 0;
  // Every rank's bytes, by rank, on every rank.
  virtual std::vector<std::string> Gather(const std::string& bytes) = 0;
  virtual void Barrier() = 0;

  // Starts an AllReduceSum that runs beside the computation, and waits for the
  // one that was started. At most one at a time.
  virtual void StartSum(at::Tensor tensor) = 0;
  virtual void FinishSum() = 0;

  // `state`: what State() gave when the run was saved, or null.
  virtual std::unique_ptr<GradientSync> SyncGradients(
      std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers,
      const nlohmann::ordered_json& state) = 0;
};

}  // namespace epochd::engine
