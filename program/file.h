// SPDX-License-Identifier: Apache-2.0
//
// Whole small files. Any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace epochd::program {

// Replaces `path` so that a reader sees the old content or the new, never a
// part: writes a temporary file beside it, syncs, renames. The file gets
// `mode` exactly. On failure the old file stands and no temporary is left.
absl::Status ReplaceFile(const std::string& path, std::string_view content,
                         mode_t mode);

// NOT_FOUND when there is none; RESOURCE_EXHAUSTED above `max_bytes`;
// FAILED_PRECONDITION for a pipe without a writer.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes);

// Makes `path` and the folders above it; the last one gets mode 0700 when it
// is made. OK when it exists.
absl::Status MakePrivateDir(const std::string& path);

}  // namespace epochd::program
