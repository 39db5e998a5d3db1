// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/paths.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "worker/engine/core/error.h"

namespace epochd::trainer {
namespace {

using catalogue::Json;

// Finds the value at a field path below `value`, which stands at `path`;
// nullptr: there is none.
const Json* FindAt(const Json& value, const std::string& path,
                   const std::string& wanted) {
  if (path == wanted) return &value;
  if (!value.is_structured()) return nullptr;
  size_t index = 0;
  for (const auto& [key, child] : value.items()) {
    const std::string below = value.is_array()
                                  ? catalogue::AppendIndex(path, index++)
                                  : catalogue::AppendKey(path, key);
    if (!wanted.starts_with(below)) continue;
    if (const Json* found = FindAt(child, below, wanted)) return found;
  }
  return nullptr;
}

}  // namespace

void CheckPaths(const catalogue::Catalogue& catalogue,
                const catalogue::Json& experiment) {
  std::string missing;
  for (const std::string& field :
       catalogue::Validate(catalogue, experiment).paths) {
    const Json* value = FindAt(experiment, "experiment", field);
    if (value == nullptr || !value->is_string()) continue;
    std::error_code error;
    if (std::filesystem::exists(value->get<std::string>(), error)) continue;
    char host[256] = "?";
    gethostname(host, sizeof(host) - 1);
    if (!missing.empty()) missing += '\n';
    missing += field + ": \"" + value->get<std::string>() +
               "\" does not exist on worker host \"" + host + "\"";
  }
  if (!missing.empty()) {
    throw engine::Error(engine::ErrorKind::kBadSpec, missing);
  }
}

}  // namespace epochd::trainer
