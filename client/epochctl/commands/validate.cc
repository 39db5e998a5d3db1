// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/job_input.h"
#include "client/epochctl/words.h"
#include "client/job_file/spec_writer.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  JobFlags job;
  bool server = false;
  bool resolved = false;
};

int CheckAtServer(Context& context, client::JobFile& file) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto answer = (*client)->ValidateJob(file.spec);
  if (!answer.ok()) {
    const auto code = PrintViolations(context, file, answer.status());
    return code ? *code : context.Fail(answer.status());
  }
  for (const v1::Violation& violation : answer->violations()) {
    file.Report(violation.field(), violation.description());
  }
  if (const auto code = PrintViolations(context, file, absl::OkStatus())) {
    return *code;
  }
  if (!answer->scheduling_hint().empty()) {
    context.err << Safe(answer->scheduling_hint()) << "\n";
  }
  return kOk;
}

int Run(Context& context, const Flags& flags) {
  const bool needs_catalogue = !flags.server || flags.resolved;
  JobInput input = LoadJob(context, flags.job, nullptr, needs_catalogue);
  if (input.exit_code) return *input.exit_code;
  if (flags.server) {
    if (const int code = CheckAtServer(context, input.file); code != kOk) {
      return code;
    }
  }
  if (flags.resolved) {
    context.out << Render(
        client::ToJobFile(input.file.spec, &*input.catalogue),
        context.format == Format::kJson ? Format::kJson : Format::kYaml);
    return kOk;
  }
  if (context.PrintMessage(input.file.spec)) return kOk;
  if (!context.quiet) context.out << Safe(flags.job.file) << ": valid\n";
  return kOk;
}

}  // namespace

Command ValidateCommand() {
  const auto flags = std::make_shared<Flags>();
  std::vector<Option> options = JobOptions(flags->job);
  options.push_back({"--at-server", &flags->server, "Ask the coordinator too"});
  options.push_back({"--resolved", &flags->resolved,
                     "Print the file with defaults, overrides and references "
                     "worked in"});
  return {
      "validate",
      "",
      "Check a job file, without a coordinator",
      {"epochctl validate job.yaml", "epochctl validate job.yaml --at-server",
       "epochctl validate job.yaml --resolved > whole.yaml"},
      std::move(options),
      [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
