// SPDX-License-Identifier: Apache-2.0
//
// Tensors over the pages of a file: opening one costs no copy, ranks of a node
// share the system's cache, and a file may be larger than memory. A tensor
// keeps the mapping alive. Writing to one changes this process's copy alone.
// Any thread.
//
// A mapped file must not be shortened while it is used: what it no longer holds
// cannot be an error of a call any more. The first mapping therefore installs a
// handler of SIGBUS, which writes file and byte to stderr and ends the process
// as EndUnreadableMappings() says. Other causes of SIGBUS go on to the handler
// that was there before.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "worker/engine/data/random_access_file.h"

namespace epochd::engine {

class MappedFile;

// The tensors of one file, which outlive this.
class FileTensors {
 public:
  // Less than this is read: copying it costs less than it is worth.
  static constexpr int64_t kLeastMapped = 1 << 20;

  // `file` outlives this.
  explicit FileTensors(const RandomAccessFile& file) : file_(file) {}

  // The values from byte `offset` on, which the file was checked to hold. Read
  // into memory of their own where they are few, not aligned for their type, or
  // the file system cannot map. Throws what RandomAccessFile::Read() throws.
  at::Tensor At(int64_t offset, at::IntArrayRef shape, at::ScalarType type);

 private:
  const RandomAccessFile& file_;
  std::shared_ptr<const MappedFile> mapped_;
  bool can_map_ = true;
};

// From now on a mapping that cannot be read ends the process with this code,
// without destructors. Until then: with what SIGBUS did before.
void EndUnreadableMappings(int exit_code);

}  // namespace epochd::engine
