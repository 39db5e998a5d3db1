// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/each_job.h"

#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {

std::vector<Option> EachJobOptions(EachJobFlags& flags) {
  return {
      {"jobs", &flags.jobs, "Ids of jobs", {}, true},
      {"--request-id", &flags.request_id,
       "Such as a UUID, for one job; the same again gives the same answer"}};
}

int EachJob(const Context& context, const EachJobFlags& flags,
            const std::string& done, const JobCall& call) {
  if (!flags.request_id.empty() && flags.jobs.size() > 1) {
    context.Fail(absl::InvalidArgumentError(
        "--request-id: names one request, got " +
        std::to_string(flags.jobs.size()) + " jobs, give one"));
    return kUsage;
  }
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  int code = kOk;
  for (const std::string& id : flags.jobs) {
    const auto job = call(
        **client, JobName(id),
        flags.request_id.empty() ? client::NewRequestId() : flags.request_id);
    if (!job.ok()) {
      code = context.Fail(job.status());
    } else if (!context.PrintMessage(*job)) {
      context.out << Safe(job->name());
      if (context.format != Format::kName) {
        context.out << " " << (done.empty() ? Word(job->state()) : done);
      }
      context.out << "\n";
    }
  }
  return code;
}

}  // namespace epochd::epochctl
