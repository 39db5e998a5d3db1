// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>

#include "worker/engine/core/error.h"
#include "worker/engine/data/image/cifar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto kind :
       {epochd::engine::CifarKind::k10, epochd::engine::CifarKind::k100Fine,
        epochd::engine::CifarKind::k100Coarse}) {
    try {
      epochd::engine::ParseCifar(bytes, "fuzz", kind);
    } catch (const epochd::engine::Error&) {
      // Refused, as it may be; anything else that is thrown is a bug.
    }
  }
  return 0;
}
