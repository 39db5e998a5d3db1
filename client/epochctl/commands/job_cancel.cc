// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

int Run(Context& context, const std::vector<std::string>& ids) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  int code = kOk;
  for (const std::string& id : ids) {
    const auto job = (*client)->CancelJob(JobName(id), client::NewRequestId());
    if (!job.ok()) {
      code = context.Fail(job.status());
    } else if (!context.PrintMessage(*job)) {
      context.out << Safe(job->name());
      if (context.format != Format::kName) {
        context.out << " " << Word(job->state());
      }
      context.out << "\n";
    }
  }
  return code;
}

}  // namespace

Command JobCancelCommand() {
  const auto ids = std::make_shared<std::vector<std::string>>();
  return {"job cancel",
          "stop",
          "Stop jobs; what is finished stays as it is",
          {"epochctl stop JOB"},
          {{"jobs", ids.get(), "Ids of jobs", {}, true}},
          [ids](Context& context) { return Run(context, *ids); }};
}

}  // namespace epochd::epochctl
