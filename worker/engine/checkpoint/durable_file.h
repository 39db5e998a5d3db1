// SPDX-License-Identifier: Apache-2.0
//
// Files that are on the disk when the call returns. Failures are
// Error(kInfrastructure) naming path and cause. Plain functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace epochd::engine {

struct FileSummary {
  int64_t bytes = 0;
  std::string sha256;
};

// Creates `path`, which must not exist, of these parts in order, and syncs it.
FileSummary WriteDurable(const std::string& path,
                         const std::vector<std::string_view>& parts);
// Syncs what a folder lists.
void SyncFolder(const std::string& path);
// The whole file. Refuses one longer than `limit`.
std::string ReadWhole(const std::string& path, int64_t limit);
// Reads the file through.
FileSummary Summarise(const std::string& path);

}  // namespace epochd::engine
