// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/submit.h"

#include <utility>

#include "client/epochctl/exit_code.h"
#include "proto/wire/status.h"

namespace epochd::epochctl {
namespace {

// Gives the exit code when there are problems, which it prints.
std::optional<int> PrintProblems(const Context& context,
                                 const client::JobFile& file) {
  if (file.problems.empty()) return std::nullopt;
  for (const std::string& line : file.Describe()) context.err << line << "\n";
  const size_t num_problems = file.problems.size();
  context.err << num_problems << (num_problems == 1 ? " problem" : " problems")
              << "\n";
  return kInvalid;
}

}  // namespace

Loaded LoadForUse(const Context& context, const std::string& path,
                  const std::vector<std::string>& overrides,
                  const catalogue::Catalogue* catalogue) {
  Loaded loaded;
  client::LoadOptions options;
  options.catalogue = catalogue;
  options.overrides = overrides;
  absl::StatusOr<client::JobFile> file = client::LoadJobFile(path, options);
  if (!file.ok()) {
    loaded.exit_code = context.Fail(file.status());
    return loaded;
  }
  loaded.file = *std::move(file);
  loaded.exit_code = PrintProblems(context, loaded.file);
  return loaded;
}

bool PrintViolations(const Context& context, client::JobFile& file,
                     const absl::Status& status) {
  for (const wire::FieldViolation& violation : wire::Violations(status)) {
    file.Report(violation.field, violation.description);
  }
  return PrintProblems(context, file).has_value();
}

absl::StatusOr<v1::Job> SubmitFile(client::Client& client,
                                   const client::JobFile& file,
                                   const std::string& request_id,
                                   bool validate_only) {
  if (!validate_only) {
    for (const client::CarriedFile& carried : file.files) {
      const absl::Status status =
          client.UploadFile(carried.sha256, carried.content);
      if (!status.ok()) return status;
    }
  }
  return client.SubmitJob(file.spec, request_id, validate_only);
}

}  // namespace epochd::epochctl
