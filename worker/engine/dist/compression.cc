// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/compression.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

namespace epochd::engine {
namespace {

using GroupHook =
    c10d::CppCommHookInterface<c10::intrusive_ptr<c10d::ProcessGroup>>;

class Bf16Hook : public GroupHook {
 public:
  using GroupHook::GroupHook;

  c10::intrusive_ptr<c10::ivalue::Future> runHook(
      c10d::GradBucket& bucket) override {
    at::Tensor buffer = bucket.getBuffer();
    std::vector<at::Tensor> sent{
        buffer.to(at::kBFloat16).div_(state_->getSize())};
    auto summed = state_->allreduce(sent)->getFuture();
    return summed->then(
        [buffer, sent](c10::ivalue::Future&) {
          return c10::IValue(buffer.copy_(sent[0]));
        },
        c10::TensorType::get());
  }
};

}  // namespace

std::unique_ptr<c10d::CommHookInterface> MakeBf16Hook(
    c10::intrusive_ptr<c10d::ProcessGroup> group) {
  return std::make_unique<Bf16Hook>(std::move(group));
}

}  // namespace epochd::engine
