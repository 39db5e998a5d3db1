// SPDX-License-Identifier: Apache-2.0
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAFunctions.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "worker/cuda/module.h"
#include "worker/engine/dist/group_communicator.h"
#include "worker/engine/dist/reducer_sync.h"

namespace epochd::cuda {
namespace {

c10::intrusive_ptr<c10d::ProcessGroup> MakeNcclGroup(
    const c10::intrusive_ptr<c10d::Store>& store,
    const engine::GlooOptions& options) {
  auto own = c10::make_intrusive<c10d::PrefixStore>("gpu", store);
  auto nccl_options = c10d::ProcessGroupNCCL::Options::create();
  nccl_options->timeout = options.timeout;
  auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      own, options.rank, options.world_size, nccl_options);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(own, options.rank,
                                                       options.world_size);
  group->setBackend(c10::DeviceType::CUDA,
                    c10d::ProcessGroup::BackendType::NCCL, nccl);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
  group->setGroupName("epochd_gpu");
  return group;
}

std::unique_ptr<engine::Communicator> MakeCommunicator(
    const engine::GlooOptions& options) {
  c10::cuda::set_device(0);
  auto store = engine::MeetAtStore(options);
  auto control = engine::MakeGlooGroup(store, options, "cpu");
  return engine::WithPeers("rendezvous", [&] {
    return std::make_unique<engine::GroupCommunicator>(
        store, control, MakeNcclGroup(store, options));
  });
}

int NumDevices() { return c10::cuda::device_count(); }

constexpr Module kModule = {&NumDevices, &MakeCommunicator};

}  // namespace
}  // namespace epochd::cuda

extern "C" __attribute__((visibility("default"))) const epochd::cuda::Module*
epochd_cuda_module() {
  return &epochd::cuda::kModule;
}
