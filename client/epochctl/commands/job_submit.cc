// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "client/epochctl/catalogue_source.h"
#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/interrupt.h"
#include "client/epochctl/submit.h"
#include "client/epochctl/watch_job.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string file;
  std::vector<std::string> set;
  std::string request_id;
  std::string dry_run;
  bool watch = false;
};

int Run(Context& context, const Flags& flags) {
  // Before any thread exists.
  std::unique_ptr<Interrupt> interrupt;
  if (flags.watch) interrupt = std::make_unique<Interrupt>();
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());

  // What the fleet can build counts; the installed file stands in.
  absl::StatusOr<catalogue::Catalogue> catalogue = ServerCatalogue(**client);
  if (absl::IsUnauthenticated(catalogue.status()) ||
      absl::IsUnavailable(catalogue.status())) {
    return context.Fail(catalogue.status());
  }
  if (!catalogue.ok()) catalogue = InstalledCatalogue(context);
  if (!catalogue.ok()) {
    context.Warn("no component catalogue, paths are sent as they are: " +
                 std::string(catalogue.status().message()));
  }
  Loaded loaded = LoadForUse(context, flags.file, flags.set,
                             catalogue.ok() ? &*catalogue : nullptr);
  if (loaded.exit_code) return *loaded.exit_code;

  const std::string request_id =
      flags.request_id.empty() ? client::NewRequestId() : flags.request_id;
  const absl::StatusOr<v1::Job> job =
      SubmitFile(**client, loaded.file, request_id, flags.dry_run == "server");
  if (!job.ok()) {
    if (PrintViolations(context, loaded.file, job.status())) return kInvalid;
    return context.Fail(job.status());
  }
  if (flags.dry_run == "server") {
    context.err << "the coordinator would take it\n";
    return kOk;
  }
  if (flags.watch) {
    if (!context.quiet) {
      context.err << Safe(job->name()) << " " << Word(job->state()) << "\n";
    }
    WatchJobOptions watch;
    watch.stop = interrupt->token();
    return WatchAndReport(context, **client, job->name(), watch);
  }
  if (context.PrintMessage(*job)) return kOk;
  context.out << Safe(job->name()) << "\n";
  return kOk;
}

}  // namespace

Command JobSubmitCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job submit",
          "submit",
          "Queue a job",
          {"epochctl submit job.yaml", "epochctl submit job.yaml --watch",
           "epochctl submit job.yaml --set optimizer.lr=0.01"},
          {{"file",
            &flags->file,
            "Job file, YAML or JSON; - is stdin",
            {},
            true,
            true},
           {"--set", &flags->set, "FIELD=VALUE to change, more than once"},
           {"-w,--watch", &flags->watch, "Follow the job to its end"},
           {"--request-id", &flags->request_id,
            "UUID; the same again gives the same job"},
           {"--dry-run",
            &flags->dry_run,
            "Check it at the coordinator alone",
            {"server"}}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
