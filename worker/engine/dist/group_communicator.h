// SPDX-License-Identifier: Apache-2.0
//
// Communicator over c10d process groups: one that carries control (CPU
// tensors, always Gloo) and one that carries gradients (Gloo or NCCL; may be
// the same). See dist/communicator.h for threads.
#pragma once

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "worker/engine/dist/communicator.h"
#include "worker/engine/dist/gloo.h"

namespace epochd::engine {

class GroupCommunicator : public Communicator {
 public:
  GroupCommunicator(c10::intrusive_ptr<c10d::Store> store,
                    c10::intrusive_ptr<c10d::ProcessGroup> control,
                    c10::intrusive_ptr<c10d::ProcessGroup> gradients);
  ~GroupCommunicator() override;

  int rank() const override { return control_->getRank(); }
  int world_size() const override { return control_->getSize(); }
  void Broadcast(std::vector<at::Tensor> tensors, int root) override;
  void AllReduceSum(at::Tensor& tensor) override;
  std::vector<std::string> Gather(const std::string& bytes) override;
  std::vector<std::string> GatherAtRoot(const std::string& bytes) override;
  void Barrier() override;
  void StartSum(at::Tensor tensor) override;
  void FinishSum() override;
  std::unique_ptr<GradientSync> SyncGradients(
      std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
      const SyncOptions& options, const nlohmann::ordered_json& state) override;
  void TellFailure(const std::string& message) override;
  std::string FirstFailure() override;

 private:
  // Bytes of every rank, by rank.
  std::vector<int64_t> Lengths(int64_t own);

  // Destroyed last: rank 0 serves the store to the others.
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroup> control_;
  c10::intrusive_ptr<c10d::ProcessGroup> gradients_;
  c10::intrusive_ptr<c10d::Work> started_;
};

// Ranks meet at the store of options.rendezvous.
c10::intrusive_ptr<c10d::Store> MeetAtStore(const GlooOptions& options);
// A Gloo group over the store; `prefix` keeps groups apart.
c10::intrusive_ptr<c10d::ProcessGroup> MakeGlooGroup(
    const c10::intrusive_ptr<c10d::Store>& store, const GlooOptions& options,
    const std::string& prefix);

}  // namespace epochd::engine
