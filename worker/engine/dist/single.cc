// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/single.h"

#include <ATen/ATen.h>

#include "worker/engine/dist/backward_pass.h"

namespace epochd::engine {
namespace {

class SingleSync : public GradientSync {
 public:
  void BeforeForward(bool) override {}
  void Backward(const at::Tensor& loss, bool) override { backward_.Run(loss); }
  void SyncBuffers() override {}
  nlohmann::ordered_json State() const override { return nullptr; }

 private:
  BackwardPass backward_;
};

class SingleCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  void Broadcast(std::vector<at::Tensor>, int) override {}
  void AllReduceSum(at::Tensor&) override {}
  std::vector<std::string> Gather(const std::string& bytes) override {
    return {bytes};
  }
  std::vector<std::string> GatherAtRoot(const std::string& bytes) override {
    return {bytes};
  }
  void Barrier() override {}
  void StartSum(at::Tensor) override {}
  void FinishSum() override {}
  std::unique_ptr<GradientSync> SyncGradients(
      std::vector<NamedTensor>, std::vector<NamedTensor>, const SyncOptions&,
      const nlohmann::ordered_json&) override {
    return std::make_unique<SingleSync>();
  }
  void TellFailure(const std::string&) override {}
  std::string FirstFailure() override { return ""; }
};

}  // namespace

std::unique_ptr<Communicator> MakeSingleCommunicator() {
  return std::make_unique<SingleCommunicator>();
}

}  // namespace epochd::engine
