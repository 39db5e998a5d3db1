// SPDX-License-Identifier: Apache-2.0
//
// Files, plain or gzip, read from the beginning on. Bounded, so that a hostile
// file cannot take all memory: a small one does not inflate to a huge one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "worker/engine/data/random_access_file.h"

struct gzFile_s;  // of zlib

namespace epochd::engine {

inline constexpr int64_t kMaxFileBytes = int64_t{16} << 30;

// What so many bytes may inflate to: no more than deflate can give, and beyond
// 1 GiB no more than 200 times as many.
int64_t MostInflated(int64_t packed_bytes);

// One thread at a time.
class SequentialFile {
 public:
  // Throws what RandomAccessFile does, and Error(kBadSpec) naming the file
  // where it is over `max_bytes`.
  explicit SequentialFile(const std::string& path,
                          int64_t max_bytes = kMaxFileBytes);
  ~SequentialFile();

  const std::string& path() const { return file_.path(); }
  bool is_gzip() const { return is_gzip_; }
  // What a plain file holds, what a gzip file may hold at most.
  int64_t most_bytes() const { return most_bytes_; }
  // How many have been read.
  int64_t position() const { return position_; }
  // Fills `out`, or less where the file ends before: as much as is returned.
  // Throws Error naming file and byte: kBadSpec where it holds more than it may
  // or is broken gzip, kInfrastructure where reading fails.
  size_t Read(std::span<uint8_t> out);

 private:
  [[noreturn]] void RefuseRest() const;

  const RandomAccessFile file_;
  const bool is_gzip_;
  const int64_t most_bytes_;
  int64_t position_ = 0;
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> stream_;
};

// All of it. Throws what SequentialFile does.
std::string ReadFileBytes(const std::string& path,
                          int64_t max_bytes = kMaxFileBytes);

}  // namespace epochd::engine
