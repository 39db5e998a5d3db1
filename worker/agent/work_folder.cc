// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/work_folder.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "program/file.h"
#include "program/logging.h"

namespace epochd::agent {
namespace {

constexpr size_t kMaxId = 128;
// What an attempt's first files need.
constexpr size_t kProbeBytes = 4096;

// Writes a file and removes it; 0, or the error number of what failed.
int ErrorOfWriting(const std::string& path) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  const std::string bytes(kProbeBytes, '\0');
  const ssize_t n = write(fd, bytes.data(), bytes.size());
  int error = n < 0 ? errno : 0;
  if (n >= 0 && n < static_cast<ssize_t>(bytes.size())) error = ENOSPC;
  if (close(fd) != 0 && error == 0) error = errno;
  unlink(path.c_str());
  return error;
}

std::string Mebibytes(int64_t bytes) {
  return absl::StrCat(bytes >> 20, " MiB");
}

}  // namespace

std::string RandomId() {
  std::random_device random;
  std::string bytes;
  for (int i = 0; i < 16; ++i) bytes += static_cast<char>(random() & 0xff);
  return absl::BytesToHexString(bytes);
}

std::string FolderProblem(const std::string& work_dir, int64_t min_free) {
  const std::string subject = absl::StrCat("work folder '", work_dir, "'");
  std::string problem;
  struct statvfs disk {};
  if (const int error = ErrorOfWriting(work_dir + "/probe"); error != 0) {
    problem = absl::StrCat(subject, " cannot be written: ", strerror(error));
  } else if (statvfs(work_dir.c_str(), &disk) == 0) {
    const auto free = static_cast<int64_t>(disk.f_bavail) *
                      static_cast<int64_t>(disk.f_frsize);
    if (free < min_free) {
      problem = absl::StrCat(subject, " has ", Mebibytes(free),
                             " free, --min-free-space asks for ",
                             Mebibytes(min_free));
    }
  }
  return program::EscapeControls(problem);
}

absl::StatusOr<std::string> FolderId(const std::string& work_dir) {
  const std::string folder = work_dir + "/attempts";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = absl::StrCat(folder, "/", kFolderId);
  const absl::StatusOr<std::string> text = program::ReadFile(path, kMaxId);
  if (text.ok()) {
    std::string id(absl::StripAsciiWhitespace(*text));
    if (!id.empty()) return id;
  } else if (!absl::IsNotFound(text.status())) {
    // Not replaced: it may be the right one.
    return absl::UnavailableError(
        absl::StrCat("--work-dir: ", text.status().message()));
  }
  std::string id = RandomId();
  const absl::Status kept = program::ReplaceFile(path, id + "\n", 0644);
  if (!kept.ok()) {
    return absl::UnavailableError(absl::StrCat("--work-dir: ", kept.message()));
  }
  return id;
}

}  // namespace epochd::agent
