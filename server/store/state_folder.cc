// SPDX-License-Identifier: Apache-2.0
#include "server/store/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace epochd::store {
namespace {

constexpr char kOpen[] = "open";
constexpr char kClosed[] = "closed";

absl::Status Failed(const std::string& path, const char* problem) {
  const int error = errno;
  const std::string message =
      absl::StrCat(path, ": ", problem, ": ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(message);
  }
  return absl::InternalError(message);
}

}  // namespace

absl::StatusOr<StateFolder> StateFolder::Lock(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed(path, "the state folder cannot be made");
  }
  const std::string file = absl::StrCat(path, "/lock");
  const int descriptor =
      open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return Failed(file, "cannot be opened");
  // Holds the descriptor from here on.
  StateFolder folder(path, descriptor, false);
  char text[64] = {};
  const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) return Failed(file, "cannot be locked");
  const ssize_t size = pread(descriptor, text, sizeof(text) - 1, 0);
  if (size < 0) return Failed(file, "cannot be read");
  const std::string mark(absl::StripSuffix(text, "\n"));
  if (!locked) {
    return absl::UnavailableError(
        absl::StrCat(path, ": in use by another coordinator ('", mark,
                     "'); stop it, or give this one another state folder"));
  }
  folder.left_open_ = absl::StartsWith(mark, kOpen);
  return folder;
}

StateFolder::StateFolder(std::string path, int descriptor, bool left_open)
    : path_(std::move(path)), descriptor_(descriptor), left_open_(left_open) {}

StateFolder::StateFolder(StateFolder&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      left_open_(other.left_open_) {}

StateFolder::~StateFolder() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status StateFolder::MarkOpen() {
  return Write(absl::StrCat(kOpen, " pid ", getpid(), "\n"));
}

absl::Status StateFolder::MarkClosed() {
  return Write(absl::StrCat(kClosed, "\n"));
}

absl::Status StateFolder::Write(const std::string& mark) {
  const std::string file = absl::StrCat(path_, "/lock");
  const auto size = static_cast<ssize_t>(mark.size());
  // Short enough for the file system to take it whole.
  if (pwrite(descriptor_, mark.data(), mark.size(), 0) != size ||
      ftruncate(descriptor_, size) != 0 || fsync(descriptor_) != 0) {
    return Failed(file, "cannot be written");
  }
  return absl::OkStatus();
}

}  // namespace epochd::store
