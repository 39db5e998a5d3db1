// SPDX-License-Identifier: Apache-2.0
//
// The same for each of several jobs: how cancel and delete work.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/epochctl/command.h"
#include "client/epochctl/context.h"

namespace epochd::epochctl {

struct EachJobFlags {
  std::vector<std::string> jobs;
  std::string request_id;
};
std::vector<Option> EachJobOptions(EachJobFlags& flags);

// Gives the job as it is afterwards, or one that has only a name.
using JobCall = std::function<absl::StatusOr<v1::Job>(
    client::Client& client, const std::string& name,
    const std::string& request_id)>;

// Calls for each and says what came of it: `done`, or the job's state where
// that is empty. A failure does not keep the others from their turn; the exit
// code is that of the last one.
int EachJob(const Context& context, const EachJobFlags& flags,
            const std::string& done, const JobCall& call);

}  // namespace epochd::epochctl
