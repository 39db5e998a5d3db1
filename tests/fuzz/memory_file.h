// SPDX-License-Identifier: Apache-2.0
//
// Files in memory with a path, for readers that open files themselves.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace epochd::engine {

class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size)
      : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    while (size > 0) {
      const ssize_t written = write(file_, data, size);
      if (written <= 0) std::abort();
      data += written;
      size -= static_cast<size_t>(written);
    }
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  const int file_;
};

}  // namespace epochd::engine
