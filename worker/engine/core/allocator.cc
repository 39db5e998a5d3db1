// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/allocator.h"

#include <malloc.h>

namespace epochd::engine {

void KeepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // glibc's most
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

}  // namespace epochd::engine
