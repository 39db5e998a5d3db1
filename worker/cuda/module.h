// SPDX-License-Identifier: Apache-2.0
//
// What the GPU module (libepochd_cuda.so) offers, through one C symbol. The
// module has the engine's version; loading it loads CUDA and starts threads,
// so never before a fork.
#pragma once

#include <memory>

#include "worker/engine/dist/communicator.h"
#include "worker/engine/dist/gloo.h"

namespace epochd::cuda {

struct Module {
  // GPUs that this process sees.
  int (*num_devices)();
  // Gradients over NCCL, control over Gloo. This process uses GPU 0 of those
  // it sees.
  std::unique_ptr<engine::Communicator> (*make_communicator)(
      const engine::GlooOptions& options);
};

inline constexpr char kModuleFile[] = "libepochd_cuda.so";
// extern "C" const Module* of this name.
inline constexpr char kModuleSymbol[] = "epochd_cuda_module";

}  // namespace epochd::cuda
