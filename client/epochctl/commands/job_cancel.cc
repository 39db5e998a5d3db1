// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/each_job.h"

namespace epochd::epochctl {

Command JobCancelCommand() {
  const auto flags = std::make_shared<EachJobFlags>();
  return {"job cancel",
          "stop",
          "Stop jobs; what is finished stays as it is",
          {"epochctl stop JOB"},
          EachJobOptions(*flags),
          [flags](Context& context) {
            return EachJob(context, *flags, "",
                           [](client::Client& client, const std::string& name,
                              const std::string& request_id) {
                             return client.CancelJob(name, request_id);
                           });
          }};
}

}  // namespace epochd::epochctl
