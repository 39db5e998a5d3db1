// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/job_input.h"

#include <utility>

#include "client/epochctl/catalogue_source.h"
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

absl::StatusOr<catalogue::Catalogue> CatalogueOf(const Context& context,
                                                 const std::string& path,
                                                 client::Client* client) {
  if (client == nullptr || !path.empty()) {
    return InstalledCatalogue(context, path);
  }
  // What the fleet can build counts; the installed file stands in.
  auto known = ServerCatalogue(*client);
  if (known.ok() || absl::IsUnauthenticated(known.status()) ||
      absl::IsUnavailable(known.status())) {
    return known;
  }
  return InstalledCatalogue(context);
}

absl::StatusOr<v1::Job> UploadAndSubmit(client::Client& client,
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

}  // namespace

std::vector<Option> JobOptions(JobFlags& flags) {
  return {{"file",
           &flags.file,
           "Job file, YAML or JSON; - is stdin",
           {},
           true,
           true},
          {"--set", &flags.set,
           "FIELD=VALUE to change, more than once; null takes it away"},
          {"--catalogue",
           &flags.catalogue,
           "Component catalogue (EPOCHD_CATALOGUE, the installed one)",
           {},
           false,
           true}};
}

JobInput LoadJob(const Context& context, const JobFlags& flags,
                 client::Client* client, bool needs_catalogue) {
  JobInput input;
  auto catalogue = CatalogueOf(context, flags.catalogue, client);
  if (catalogue.ok()) {
    input.catalogue = *std::move(catalogue);
  } else if (needs_catalogue || !flags.catalogue.empty() ||
             absl::IsUnauthenticated(catalogue.status()) ||
             absl::IsUnavailable(catalogue.status())) {
    input.exit_code = context.Fail(catalogue.status());
    return input;
  } else {
    context.Warn(
        "no component catalogue, components are checked by the trainer and "
        "paths are sent as they are: " +
        std::string(catalogue.status().message()));
  }
  client::LoadOptions options;
  options.catalogue = input.catalogue ? &*input.catalogue : nullptr;
  options.overrides = flags.set;
  auto file = client::LoadJobFile(flags.file, options);
  if (!file.ok()) {
    input.exit_code = context.Fail(file.status());
    return input;
  }
  input.file = *std::move(file);
  input.exit_code = PrintProblems(context, input.file);
  return input;
}

std::optional<int> PrintViolations(const Context& context,
                                   client::JobFile& file,
                                   const absl::Status& status) {
  for (const wire::FieldViolation& violation : wire::Violations(status)) {
    file.Report(violation.field, violation.description);
  }
  return PrintProblems(context, file);
}

Submitted Submit(const Context& context, client::Client& client,
                 client::JobFile& file, const std::string& request_id,
                 bool validate_only) {
  Submitted submitted;
  auto job = UploadAndSubmit(client, file, request_id, validate_only);
  if (job.ok()) {
    submitted.job = *std::move(job);
    return submitted;
  }
  submitted.exit_code = PrintViolations(context, file, job.status());
  if (!submitted.exit_code) submitted.exit_code = context.Fail(job.status());
  return submitted;
}

}  // namespace epochd::epochctl
