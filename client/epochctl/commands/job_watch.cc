// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/interrupt.h"
#include "client/epochctl/watch_job.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string job;
  int after = 0;
};

int Run(Context& context, const Flags& flags) {
  const Interrupt interrupt;
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const std::string job = JobName(flags.job);
  if (const auto code = FailUnlessThere(context, **client, job)) return *code;
  WatchJobOptions options;
  options.after = flags.after;
  options.stop = interrupt.token();
  return WatchAndReport(context, **client, job, options);
}

}  // namespace

Command JobWatchCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job watch",
          "watch",
          "Follow a job to its end; Ctrl-C detaches",
          {"epochctl watch JOB", "epochctl watch JOB -o json"},
          {{"job", &flags->job, "Id of the job", {}, true},
           {"--after", &flags->after, "Begin after this event's sequence"}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
