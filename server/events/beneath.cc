// SPDX-License-Identifier: Apache-2.0
#include "server/events/beneath.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace epochd::events {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

absl::Status Refused(std::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "file name: not a plain name, '", std::string(name.substr(0, 64)),
      "'; expected letters, digits, '.', '_' and '-'"));
}

}  // namespace

absl::Status ErrnoStatus(int error, const std::string& subject,
                         const char* problem) {
  const std::string message =
      absl::StrCat(subject, ": ", problem, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    case ELOOP:
    case ENOTDIR:
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    default:
      return absl::InternalError(message);
  }
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

bool IsPlainName(std::string_view name) {
  if (name.empty() || name.size() > 128) return false;
  if (name.find_first_not_of('.') == std::string_view::npos) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  });
}

absl::StatusOr<File> OpenFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, path, "the folder cannot be made");
  }
  // The root itself may be reached through links: it is the operator's.
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return ErrnoStatus(errno, path, "the folder cannot be opened");
  }
  return File(descriptor);
}

absl::StatusOr<File> OpenFolderBeneath(const File& root,
                                       const std::vector<std::string>& steps,
                                       Missing missing) {
  File folder(fcntl(root.get(), F_DUPFD_CLOEXEC, 0));
  if (!folder.is_open()) return ErrnoStatus(errno, "folder", "cannot be used");
  for (const std::string& step : steps) {
    if (!IsPlainName(step)) return Refused(step);
    if (missing == Missing::kMake &&
        mkdirat(folder.get(), step.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, step, "the folder cannot be made");
    }
    File next(openat(folder.get(), step.c_str(), kFolderFlags));
    if (!next.is_open()) {
      return ErrnoStatus(errno, step, "the folder cannot be opened");
    }
    folder = std::move(next);
  }
  return folder;
}

absl::StatusOr<File> OpenFileIn(const File& folder, const std::string& name,
                                int flags, mode_t mode) {
  if (!IsPlainName(name)) return Refused(name);
  // O_NONBLOCK: a pipe put in the place of a file must not hang us.
  File file(openat(folder.get(), name.c_str(),
                   flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode));
  if (!file.is_open()) return ErrnoStatus(errno, name, "cannot be opened");
  struct stat info {};
  if (fstat(file.get(), &info) != 0) {
    return ErrnoStatus(errno, name, "cannot be examined");
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::PermissionDeniedError(
        absl::StrCat(name, ": not a regular file"));
  }
  return file;
}

absl::StatusOr<std::vector<std::string>> NamesIn(const File& folder) {
  const int descriptor = openat(folder.get(), ".", kFolderFlags);
  if (descriptor < 0) return ErrnoStatus(errno, "folder", "cannot be read");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(descriptor),
                                                   &closedir);
  if (stream == nullptr) {
    const absl::Status status = ErrnoStatus(errno, "folder", "cannot be read");
    close(descriptor);
    return status;
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream.get())) {
    if (IsPlainName(entry->d_name)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status RemoveTree(const File& folder, const std::string& name) {
  if (!IsPlainName(name)) return Refused(name);
  const absl::StatusOr<File> inner =
      OpenFolderBeneath(folder, {name}, Missing::kFail);
  if (absl::IsNotFound(inner.status())) return absl::OkStatus();
  if (!inner.ok()) {
    // A link or a file in its place goes, not what it leads to.
    if (unlinkat(folder.get(), name.c_str(), 0) == 0) return absl::OkStatus();
    return inner.status();
  }
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(*inner);
  if (!names.ok()) return names.status();
  for (const std::string& child : *names) {
    if (unlinkat(inner->get(), child.c_str(), 0) == 0) continue;
    if (absl::Status status = RemoveTree(*inner, child); !status.ok()) {
      return status;
    }
  }
  if (unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR) != 0 &&
      errno != ENOENT) {
    return ErrnoStatus(errno, name, "the folder cannot be removed");
  }
  return absl::OkStatus();
}

absl::Status WriteAt(const File& file, std::string_view data, off_t offset,
                     const std::string& subject) {
  while (!data.empty()) {
    const ssize_t written =
        pwrite(file.get(), data.data(), data.size(), offset);
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, subject, "cannot be written");
    }
    data.remove_prefix(static_cast<std::size_t>(written));
    offset += written;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAt(const File& file, off_t offset,
                                   std::size_t size,
                                   const std::string& subject) {
  std::string data(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got = pread(file.get(), data.data() + filled, size - filled,
                              offset + static_cast<off_t>(filled));
    if (got < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, subject, "cannot be read");
    }
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  data.resize(filled);
  return data;
}

}  // namespace epochd::events
