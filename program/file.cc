// SPDX-License-Identifier: Apache-2.0
#include "program/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace epochd::program {
namespace {

absl::Status WriteAndSync(int fd, std::string_view content, mode_t mode,
                          const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot write"));
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (::fchmod(fd, mode) != 0 || ::fsync(fd) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot sync"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReplaceFile(const std::string& path, std::string_view content,
                         mode_t mode) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot create"));
  }
  absl::Status status = WriteAndSync(fd, content, mode, temporary);
  ::close(fd);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot rename"));
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     size_t max_bytes) {
  // Does not wait for somebody to open the other end of a pipe.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open"));
  }
  std::string content;
  absl::Status status;
  char buffer[64 * 1024];
  while (status.ok()) {
    const ssize_t got = ::read(fd, buffer, sizeof(buffer));
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        // One that is written to, as of <(command).
        pollfd ready{fd, POLLIN, 0};
        ::poll(&ready, 1, -1);
        continue;
      }
      status = absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot read"));
    } else {
      content.append(buffer, static_cast<size_t>(got));
      if (content.size() > max_bytes) {
        status = absl::ResourceExhaustedError(
            absl::StrCat(path, ": too large, more than ", max_bytes, " bytes"));
      }
    }
  }
  struct stat info {};
  const bool is_pipe = ::fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
  ::close(fd);
  if (!status.ok()) return status;
  if (is_pipe && content.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": is a pipe that nobody writes to"));
  }
  return content;
}

absl::Status MakePrivateDir(const std::string& path) {
  const std::filesystem::path dir(path);
  std::error_code error;
  if (std::filesystem::is_directory(dir, error)) return absl::OkStatus();
  if (dir.has_parent_path()) {
    std::filesystem::create_directories(dir.parent_path(), error);
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat(path, ": cannot make the folder"));
  }
  return absl::OkStatus();
}

}  // namespace epochd::program
