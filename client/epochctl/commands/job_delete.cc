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
    const absl::Status status =
        (*client)->DeleteJob(JobName(id), client::NewRequestId());
    if (!status.ok()) {
      code = context.Fail(status);
    } else {
      context.out << Safe(JobName(id))
                  << (context.format == Format::kName ? "" : " deleted")
                  << "\n";
    }
  }
  return code;
}

}  // namespace

Command JobDeleteCommand() {
  const auto ids = std::make_shared<std::vector<std::string>>();
  return {"job delete",
          "",
          "Forget finished jobs, their events and logs; checkpoints stay",
          {"epochctl job delete JOB"},
          {{"jobs", ids.get(), "Ids of jobs", {}, true}},
          [ids](Context& context) { return Run(context, *ids); }};
}

}  // namespace epochd::epochctl
