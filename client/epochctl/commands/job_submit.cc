// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/interrupt.h"
#include "client/epochctl/job_input.h"
#include "client/epochctl/watch_job.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  JobFlags job;
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

  JobInput input = LoadJob(context, flags.job, client->get(), false);
  if (input.exit_code) return *input.exit_code;
  const std::string request_id =
      flags.request_id.empty() ? client::NewRequestId() : flags.request_id;
  const auto [job, exit_code] = Submit(context, **client, input.file,
                                       request_id, flags.dry_run == "server");
  if (exit_code) return *exit_code;
  if (flags.dry_run == "server") {
    context.err << "the coordinator would take it\n";
    return kOk;
  }
  if (flags.watch) {
    if (!context.quiet) {
      context.err << Safe(job.name()) << " " << Word(job.state()) << "\n";
    }
    WatchJobOptions watch;
    watch.stop = interrupt->token();
    return WatchAndReport(context, **client, job.name(), watch);
  }
  if (context.PrintMessage(job)) return kOk;
  context.out << Safe(job.name()) << "\n";
  return kOk;
}

}  // namespace

Command JobSubmitCommand() {
  const auto flags = std::make_shared<Flags>();
  std::vector<Option> options = JobOptions(flags->job);
  options.push_back({"-w,--watch", &flags->watch, "Follow the job to its end"});
  options.push_back({"--request-id", &flags->request_id,
                     "Such as a UUID; the same again gives the same job"});
  options.push_back({"--dry-run",
                     &flags->dry_run,
                     "Check it at the coordinator alone",
                     {"server"}});
  return {"job submit",
          "submit",
          "Queue a job",
          {"epochctl submit job.yaml", "epochctl submit job.yaml --watch",
           "epochctl submit job.yaml --set optimizer.lr=0.01"},
          std::move(options),
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
