// SPDX-License-Identifier: Apache-2.0
//
// Keeps one warm parent alive and hands requests to it. Polled by its owner,
// one thread. Ending the pool ends the warm parent; keepers and ranks live on.
// A request that it could not serve, or did not answer before it died, comes
// back by TakeFailed.
//
//   absent -> starting   Poll, when the pause after a death is over
//   starting -> ready    it said so
//   any -> absent        it died, or was ended as it did not answer; the pause
//                        doubles up to a minute
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "worker/process/keeper/rank_request.h"
#include "worker/process/keeper/warm_parent.h"

namespace epochd::process {

class WarmPool {
 public:
  // `trainer` is called as `trainer --warm 3`; what it prints goes to
  // `log_path`. An empty trainer makes a pool that is never ready.
  WarmPool(std::string trainer, std::string log_path);
  ~WarmPool();
  WarmPool(const WarmPool&) = delete;
  WarmPool& operator=(const WarmPool&) = delete;

  // Starts, notices readiness and death. Call when fd() is readable and now
  // and then. `now` is of the steady clock.
  void Poll(absl::Time now);

  // Descriptor to wait for; -1: none at the moment.
  int fd() const { return socket_; }

  // False: not ready, or just lost; start the rank cold. Borrows
  // request.listen_fd.
  bool Start(const keeper::RankRequest& request);
  // Requests to be served in another way; their listen_fd is the caller's to
  // close.
  std::vector<keeper::RankRequest> TakeFailed();

 private:
  void Launch(absl::Time now);
  void Drop(absl::Time now);
  void Answered(const keeper::WarmReply& reply);

  const std::string trainer_;
  const std::string log_path_;
  int socket_ = -1;
  pid_t pid_ = 0;
  bool ready_ = false;
  // Not yet answered, by id, each with a descriptor of its own.
  std::map<int64_t, keeper::RankRequest> pending_;
  std::vector<keeper::RankRequest> failed_;
  // Infinite: nothing is asked, or Poll has not seen it yet.
  absl::Time answer_deadline_ = absl::InfiniteFuture();
  int64_t last_id_ = 0;
  absl::Time next_launch_ = absl::InfinitePast();
  absl::Duration pause_ = absl::ZeroDuration();
};

}  // namespace epochd::process
