// SPDX-License-Identifier: Apache-2.0
//
// From a job file to a queued job: the one way of submit, run and validate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/api/client.h"
#include "client/epochctl/command.h"
#include "client/epochctl/context.h"
#include "client/job_file/job_file.h"

namespace epochd::epochctl {

// What every command with a job file takes.
struct JobFlags {
  std::string file;
  std::vector<std::string> set;
  std::string catalogue;
};
std::vector<Option> JobOptions(JobFlags& flags);

struct JobInput {
  client::JobFile file;
  // What the experiment was checked against.
  std::optional<catalogue::Catalogue> catalogue;
  // Set when there is nothing to go on with: everything was said.
  std::optional<int> exit_code;
};

// Reads and checks the file, against the catalogue of --catalogue, else that of
// `client` (nullptr: nobody is asked), else the installed one. Without any the
// components are left to the trainer, which is said; with `needs_catalogue` it
// is a failure.
JobInput LoadJob(const Context& context, const JobFlags& flags,
                 client::Client* client, bool needs_catalogue);

// Prints the findings of a coordinator at their lines and gives kInvalid;
// nothing: it has none about fields.
std::optional<int> PrintViolations(const Context& context,
                                   client::JobFile& file,
                                   const absl::Status& status);

struct Submitted {
  v1::Job job;
  std::optional<int> exit_code;
};

// Uploads the carried files, then submits; says what is wrong.
Submitted Submit(const Context& context, client::Client& client,
                 client::JobFile& file, const std::string& request_id,
                 bool validate_only);

}  // namespace epochd::epochctl
