// SPDX-License-Identifier: Apache-2.0
//
// Follows a job to its end, as watch, submit --watch, wait and run do.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "client/api/client.h"
#include "client/epochctl/context.h"
#include "client/epochctl/history.h"
#include "client/epochctl/progress_view.h"

namespace epochd::epochctl {

struct WatchJobOptions {
  int64_t after = 0;
  // Only the state that it ends in.
  bool silent = false;
  std::stop_token stop;
  // Asked from time to time, on another thread, with the job while it waits for
  // a place and null otherwise; an error ends the following with it.
  std::function<absl::Status(const v1::Job* waiting)> check;
};

// Asks once whether there is such a job, so that a coordinator that never
// answered is not waited for as one is that went away. Says what is wrong and
// gives the exit code; nothing: go on.
std::optional<int> FailUnlessThere(const Context& context,
                                   client::Client& client,
                                   const std::string& job);

// Shows events on `context.err` until the job is terminal, and why it waits for
// a place, which is no event; CANCELLED when stopped. With -o json the events
// go to `context.out`, one a line.
absl::StatusOr<v1::JobState> FollowJob(const Context& context,
                                       client::Client& client,
                                       const std::string& job,
                                       const WatchJobOptions& options,
                                       History& history);

// OutcomeText for `context.out`, with -q the state alone; without the reason of
// a failure that the same terminal has shown already.
std::string OutcomeAfterWatch(const Context& context, const v1::Job& job,
                              const History& history);

// The whole of watch: Ctrl-C detaches and says so; gives the exit code.
int WatchAndReport(const Context& context, client::Client& client,
                   const std::string& job, const WatchJobOptions& options);

}  // namespace epochd::epochctl
