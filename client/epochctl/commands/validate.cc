// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "client/epochctl/catalogue_source.h"
#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/submit.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string file;
  std::vector<std::string> set;
  std::string catalogue;
  bool server = false;
};

int CheckAtServer(Context& context, client::JobFile& file) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto answer = (*client)->ValidateJob(file.spec);
  if (!answer.ok()) {
    if (PrintViolations(context, file, answer.status())) return kInvalid;
    return context.Fail(answer.status());
  }
  for (const v1::Violation& violation : answer->violations()) {
    file.Report(violation.field(), violation.description());
  }
  if (PrintViolations(context, file, absl::OkStatus())) return kInvalid;
  if (!answer->scheduling_hint().empty()) {
    context.err << Safe(answer->scheduling_hint()) << "\n";
  }
  return kOk;
}

int Run(Context& context, const Flags& flags) {
  const auto catalogue = InstalledCatalogue(context, flags.catalogue);
  if (!catalogue.ok() && (!flags.server || !flags.catalogue.empty())) {
    return context.Fail(catalogue.status());
  }
  Loaded loaded = LoadForUse(context, flags.file, flags.set,
                             catalogue.ok() ? &*catalogue : nullptr);
  if (loaded.exit_code) return *loaded.exit_code;
  if (flags.server) {
    if (const int code = CheckAtServer(context, loaded.file); code != kOk) {
      return code;
    }
  }
  if (context.PrintMessage(loaded.file.spec)) return kOk;
  if (!context.quiet) context.out << Safe(flags.file) << ": valid\n";
  return kOk;
}

}  // namespace

Command ValidateCommand() {
  const auto flags = std::make_shared<Flags>();
  return {
      "validate",
      "",
      "Check a job file, without a coordinator",
      {"epochctl validate job.yaml", "epochctl validate job.yaml --at-server"},
      {{"file",
        &flags->file,
        "Job file, YAML or JSON; - is stdin",
        {},
        true,
        true},
       {"--set", &flags->set, "FIELD=VALUE to change, more than once"},
       {"--at-server", &flags->server, "Ask the coordinator too"},
       {"--catalogue",
        &flags->catalogue,
        "Component catalogue (EPOCHD_CATALOGUE, the installed one)",
        {},
        false,
        true}},
      [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
