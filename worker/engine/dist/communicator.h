// SPDX-License-Identifier: Apache-2.0
//
// Communicator: what the ranks of a run do together. One narrow class with a
// version for one process (dist/single.h), for CPUs (dist/gloo.h) and, in the
// GPU module, for NCCL. All ranks make the same calls in the same order, from
// the training thread. A peer that is gone, or that does not answer in time,
// is a PeerError.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/core/model.h"
#include "worker/engine/dist/sync_options.h"

namespace epochd::engine {

// A rank that is gone or does not answer, as the others see it.
class PeerError : public Error {
 public:
  explicit PeerError(const std::string& message)
      : Error(ErrorKind::kInfrastructure, message) {}
};

// Makes gradients the mean over ranks. Bound to one set of parameters.
class GradientSync {
 public:
  virtual ~GradientSync() = default;

  // Before each forward pass of training. `sync`: the pass ends in a synced
  // Backward(). Where buffers are broadcast they become rank 0's.
  virtual void BeforeForward(bool sync) = 0;
  // Differentiates. `sync`: gradients of this and the passes since the last
  // synced one are averaged over ranks; else they only add up here. Throws
  // Error(kBadSpec) naming parameters that got no gradient, unless the options
  // allow for them.
  virtual void Backward(const at::Tensor& loss, bool sync) = 0;
  // Makes buffers (running means and variances) the same on all ranks, as the
  // options say; before a validation. Integers are left alone by a mean.
  virtual void SyncBuffers() = 0;
  // Adds up over ranks a number that is on the parameters' device.
  virtual at::Tensor Sum(at::Tensor value) { return value; }
  virtual int num_ranks() const { return 1; }
  // What must be restored for sums to be taken in the same order again; null:
  // nothing.
  virtual nlohmann::ordered_json State() const = 0;
  // What this rank alone has: buffers that are its own, and the memory of
  // compression. `saved`: what OwnTensors() gave on this rank.
  virtual std::vector<NamedTensor> OwnTensors() const { return {}; }
  virtual void LoadOwnTensors(const std::vector<NamedTensor>&) {}
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Overwrites the tensors of every rank by those of rank `root`.
  virtual void Broadcast(std::vector<at::Tensor> tensors, int root = 0) = 0;
  // Adds up over ranks, in place; a tensor on the CPU.
  virtual void AllReduceSum(at::Tensor& tensor) = 0;
  // Every rank's bytes, by rank, on every rank.
  virtual std::vector<std::string> Gather(const std::string& bytes) = 0;
  // The same on rank 0; empty on the others, which need no memory for it.
  virtual std::vector<std::string> GatherAtRoot(const std::string& bytes) = 0;
  virtual void Barrier() = 0;

  // Starts an AllReduceSum that runs beside the computation, and waits for the
  // one that was started. At most one at a time.
  virtual void StartSum(at::Tensor tensor) = 0;
  virtual void FinishSum() = 0;

  // `state`: what State() gave when the run was saved, or null.
  virtual std::unique_ptr<GradientSync> SyncGradients(
      std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
      const SyncOptions& options, const nlohmann::ordered_json& state) = 0;

  // Not collective; for a rank that is about to end. Tells the others what went
  // wrong here, if it is the first.
  virtual void TellFailure(const std::string& message) = 0;
  // What the rank that failed first told, such as "rank 1: ..."; empty: none
  // did, or it cannot be known.
  virtual std::string FirstFailure() = 0;
};

}  // namespace epochd::engine
