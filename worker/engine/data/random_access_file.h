// SPDX-License-Identifier: Apache-2.0
//
// A file read at any place with pread: what is needed and no more. Regular
// files only, so that a pipe or device cannot block. Any thread.
//
// What is read stays what it was when another process shortens or changes the
// file; big arrays of a data set are mapped (mapped_file.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace epochd::engine {

class RandomAccessFile {
 public:
  // Throws Error naming the file: kBadSpec where it is not there or is none.
  explicit RandomAccessFile(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t num_bytes() const { return num_bytes_; }
  // Of the open file; this one's.
  int descriptor() const { return file_; }
  // Fills `out` from byte `offset` on. Throws Error naming file and byte:
  // kBadSpec where the file ends before, kInfrastructure where reading fails.
  void Read(int64_t offset, std::span<uint8_t> out) const;
  // The same for what may be big and lies in fresh memory: asks for huge pages,
  // and reads parts in several threads.
  void ReadBulk(int64_t offset, std::span<uint8_t> out) const;

 private:
  const std::string path_;
  int file_ = -1;
  int64_t num_bytes_ = 0;
};

}  // namespace epochd::engine
