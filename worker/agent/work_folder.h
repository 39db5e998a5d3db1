// SPDX-License-Identifier: Apache-2.0
//
// Whose folder of attempts this is, and whether it can be used. The id is
// random, made with the folder and kept in it, so an agent that knows it can
// say what runs there, and an agent on another or emptied folder is told apart:
// it cannot.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace epochd::agent {

// The file's name in <work-dir>/attempts, beside the attempts' folders.
inline constexpr char kFolderId[] = "folder-id";

// Reads the id, or makes one durably where there is none. Call with the
// work-dir locked. UNAVAILABLE when it cannot be read or kept.
absl::StatusOr<std::string> FolderId(const std::string& work_dir);

// Why no attempt can be started in the work-dir: a small file cannot be written
// there, or fewer than `min_free` bytes are free. Empty: it can be used.
std::string FolderProblem(const std::string& work_dir, int64_t min_free);

// 128 random bits as hex.
std::string RandomId();

}  // namespace epochd::agent
