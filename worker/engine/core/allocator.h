// SPDX-License-Identifier: Apache-2.0
//
// How the process keeps memory.
#pragma once

#include <cstddef>

namespace epochd::engine {

// For programs that train; call once, before anything large is allocated. Keeps
// what tensors free on the host for the next ones, up to 512 MiB, in place of
// giving it back to the kernel: activations come and go each step, and page
// faults cost more than the arithmetic of a small model. Tensors of 32 MiB and
// more are not kept. Does nothing where the C library is not glibc.
void KeepFreedMemory();

// Asks for huge pages where `bytes` at `data` span some: fewer faults for fresh
// memory, and faster copies. Advice only; the memory stays as it is.
void AdviseHugePages(void* data, size_t bytes);

}  // namespace epochd::engine
