// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>

#include "tests/fuzz/memory_file.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/signal/edf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using epochd::engine::EdfFile;
  const epochd::engine::MemoryFile memory(data, size);
  try {
    const EdfFile file(memory.path());
    for (size_t i = 0; i < file.signals().size(); ++i) {
      const auto signal = static_cast<int>(i);
      const int64_t count = file.num_samples(signal);
      file.Physical(signal, 0, std::min<int64_t>(count, 10000));
      file.Digital(signal, count / 2,
                   count / 2 + std::min<int64_t>(count / 2, 9));
    }
    file.Annotations();
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  return 0;
}
