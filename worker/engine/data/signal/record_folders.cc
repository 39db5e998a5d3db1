// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/record_folders.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

namespace fs = std::filesystem;

void CheckRead(const std::error_code& error, const std::string& folder) {
  if (!error) return;
  throw Error(ErrorKind::kBadSpec,
              "records \"" + folder + "\": cannot be read: " + error.message());
}

}  // namespace

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    paths.push_back(entries->path().string());
  }
  CheckRead(error, folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool VisitFolders(const std::string& folder, std::set<std::string>& seen,
                  const std::function<bool(const std::string& folder)>& take) {
  std::error_code error;
  const fs::path resolved = fs::canonical(folder, error);
  CheckRead(error, folder);
  if (!seen.insert(resolved.string()).second) return true;
  if (take(folder)) return true;
  bool has_taken = false;
  for (const std::string& entry : EntriesOf(folder)) {
    if (fs::is_directory(entry, error)) {
      has_taken |= VisitFolders(entry, seen, take);
    }
  }
  return has_taken;
}

std::string PlaceBelow(const std::string& records, const std::string& path) {
  std::error_code error;
  fs::path base(records);
  if (!fs::is_directory(base, error)) base = base.parent_path();
  if (base.empty()) base = ".";
  const fs::path place = fs::path(path).lexically_normal().lexically_relative(
      base.lexically_normal());
  return place.empty() ? path : place.string();
}

}  // namespace epochd::engine
