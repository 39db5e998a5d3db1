// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "worker/engine/core/allocator.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/refuse_file.h"

namespace epochd::engine {
namespace {

constexpr size_t kLeastHuge = 4 << 20;
constexpr size_t kBytesPerThread = 16 << 20;
constexpr size_t kMaxThreads = 4;

[[noreturn]] void CannotOpen(const std::string& path, ErrorKind kind,
                             const std::string& problem) {
  throw Error(kind, "file \"" + path + "\": " + problem);
}

}  // namespace

RandomAccessFile::RandomAccessFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: opening a pipe would wait for a writer.
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) {
    const bool is_users = errno == ENOENT || errno == EACCES ||
                          errno == ENOTDIR || errno == ENAMETOOLONG ||
                          errno == ELOOP || errno == EISDIR;
    CannotOpen(path,
               is_users ? ErrorKind::kBadSpec : ErrorKind::kInfrastructure,
               std::strerror(errno));
  }
  struct stat status {};
  if (fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file_);
    CannotOpen(path, ErrorKind::kBadSpec, "not a regular file");
  }
  num_bytes_ = status.st_size;
}

RandomAccessFile::~RandomAccessFile() { close(file_); }

void RandomAccessFile::Read(int64_t offset, std::span<uint8_t> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = pread(file_, out.data() + done, out.size() - done,
                              offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    const auto place =
        static_cast<uint64_t>(offset) + static_cast<uint64_t>(done);
    if (got < 0) {
      RefuseFile("file", path_, place,
                 std::string("cannot be read: ") + std::strerror(errno),
                 ErrorKind::kInfrastructure);
    }
    if (got == 0) {
      RefuseFile("file", path_, place,
                 "ends; " + std::to_string(out.size() - done) +
                     " bytes more are needed");
    }
    done += static_cast<size_t>(got);
  }
}

void RandomAccessFile::ReadBulk(int64_t offset, std::span<uint8_t> out) const {
  // Faults in fresh pages cost as much as the copy does.
  if (out.size() >= kLeastHuge) AdviseHugePages(out.data(), out.size());
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t parts = std::clamp<size_t>(out.size() / kBytesPerThread, 1,
                                          std::min(cores, kMaxThreads));
  const size_t each = (out.size() + parts - 1) / parts;
  std::vector<std::exception_ptr> errors(parts);
  const auto read_part = [&](size_t part) {
    const size_t begin = std::min(part * each, out.size());
    try {
      Read(offset + static_cast<int64_t>(begin),
           out.subspan(begin, std::min(each, out.size() - begin)));
    } catch (...) {
      errors[part] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t part = 1; part < parts; ++part) {
      threads.emplace_back(read_part, part);
    }
    read_part(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace epochd::engine
