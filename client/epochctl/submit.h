// SPDX-License-Identifier: Apache-2.0
//
// From a job file to a queued job, as submit, run and validate share it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/api/client.h"
#include "client/epochctl/context.h"
#include "client/job_file/job_file.h"

namespace epochd::epochctl {

// Reads and checks the file. Prints every problem, and gives the exit code
// instead of the file when there is one. `catalogue` may be nullptr.
struct Loaded {
  client::JobFile file;
  std::optional<int> exit_code;
};
Loaded LoadForUse(const Context& context, const std::string& path,
                  const std::vector<std::string>& overrides,
                  const catalogue::Catalogue* catalogue);

// Prints the server's findings at their lines; false: it has none about
// fields.
bool PrintViolations(const Context& context, client::JobFile& file,
                     const absl::Status& status);

// Uploads the carried files, then submits.
absl::StatusOr<v1::Job> SubmitFile(client::Client& client,
                                   const client::JobFile& file,
                                   const std::string& request_id,
                                   bool validate_only);

}  // namespace epochd::epochctl
