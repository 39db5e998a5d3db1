// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "worker/engine/checkpoint/sha256.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

[[noreturn]] void RefuseFile(const std::string& path, const char* doing) {
  throw Error(ErrorKind::kInfrastructure, "\"" + path + "\": cannot " + doing +
                                              ": " + std::strerror(errno));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

constexpr size_t kChunk = 4 << 20;

}  // namespace

FileSummary WriteDurable(const std::string& path,
                         const std::vector<std::string_view>& parts) {
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) RefuseFile(path, "create");
  FileSummary summary;
  Sha256 sha256;
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t written =
          write(file.get(), part.data(), std::min(part.size(), kChunk));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) RefuseFile(path, "write");
      // Hashes what was just written, while it is in the cache.
      sha256.Update(part.data(), static_cast<size_t>(written));
      summary.bytes += written;
      part.remove_prefix(static_cast<size_t>(written));
    }
  }
  if (fsync(file.get()) != 0) RefuseFile(path, "sync");
  summary.sha256 = sha256.Finish();
  return summary;
}

void SyncFolder(const std::string& path) {
  const Descriptor folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) RefuseFile(path, "open");
  // Some network file systems cannot sync folders, and need not.
  if (fsync(folder.get()) != 0 && errno != EINVAL) RefuseFile(path, "sync");
}

namespace {

// Opening a pipe would wait for whoever writes into it.
int OpenRegular(const std::string& path, struct stat& status) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) RefuseFile(path, "open");
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) return file;
  close(file);
  throw Error(ErrorKind::kInfrastructure,
              "\"" + path + "\": not a regular file");
}

}  // namespace

std::string ReadWhole(const std::string& path, int64_t limit) {
  struct stat status;
  const Descriptor file(OpenRegular(path, status));
  if (status.st_size > limit) {
    throw Error(ErrorKind::kInfrastructure,
                "\"" + path + "\": " + std::to_string(status.st_size) +
                    " bytes; at most " + std::to_string(limit) +
                    " are accepted");
  }
  std::string content(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got =
        read(file.get(), content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) RefuseFile(path, "read");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  content.resize(done);
  return content;
}

FileSummary Summarise(const std::string& path) {
  struct stat status;
  const Descriptor file(OpenRegular(path, status));
  FileSummary summary;
  Sha256 sha256;
  std::string chunk(kChunk, '\0');
  for (;;) {
    const ssize_t got = read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) RefuseFile(path, "read");
    if (got == 0) break;
    sha256.Update(chunk.data(), static_cast<size_t>(got));
    summary.bytes += got;
  }
  summary.sha256 = sha256.Finish();
  return summary;
}

}  // namespace epochd::engine
