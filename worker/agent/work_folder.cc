// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/work_folder.h"

#include <filesystem>
#include <random>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "program/file.h"

namespace epochd::agent {
namespace {

constexpr size_t kMaxId = 128;

}  // namespace

std::string RandomId() {
  std::random_device random;
  std::string bytes;
  for (int i = 0; i < 16; ++i) bytes += static_cast<char>(random() & 0xff);
  return absl::BytesToHexString(bytes);
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
