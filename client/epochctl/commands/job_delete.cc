// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/each_job.h"

namespace epochd::epochctl {
namespace {

absl::StatusOr<v1::Job> Delete(client::Client& client, const std::string& name,
                               const std::string& request_id) {
  const absl::Status status = client.DeleteJob(name, request_id);
  if (!status.ok()) return status;
  v1::Job job;
  job.set_name(name);
  return job;
}

}  // namespace

Command JobDeleteCommand() {
  const auto flags = std::make_shared<EachJobFlags>();
  return {"job delete",
          "",
          "Forget finished jobs, their events and logs; checkpoints stay",
          {"epochctl job delete JOB"},
          EachJobOptions(*flags),
          [flags](Context& context) {
            return EachJob(context, *flags, "deleted", Delete);
          }};
}

}  // namespace epochd::epochctl
