// SPDX-License-Identifier: Apache-2.0
//
// Gradients as bfloat16 on the way between ranks, as torch.distributed's
// bf16_compress_hook: g -> bf16(g) / W, summed, back to the gradient's type.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

namespace epochd::engine {

std::unique_ptr<c10d::CommHookInterface> MakeBf16Hook(
    c10::intrusive_ptr<c10d::ProcessGroup> group);

}  // namespace epochd::engine
