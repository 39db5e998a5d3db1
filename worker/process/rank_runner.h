// SPDX-License-Identifier: Apache-2.0
//
// Starting, watching and ending ranks, as the agent's core sees it. One thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/command_socket.h"
#include "worker/process/keeper/rank_request.h"

namespace epochd::process {

struct RankStatus {
  enum class Phase {
    kAbsent,   // no keeper was seen (yet)
    kRunning,  // its keeper lives
    kEnded,    // nothing of it lives; `exit` says how it ended
  };
  Phase phase = Phase::kAbsent;
  link::ExitRecord exit;
};

class RankRunner {
 public:
  virtual ~RankRunner() = default;

  // Asks for a keeper of the rank and returns at once. attempt.json must stand
  // already. Asking twice does no harm: the second keeper gives way. Borrows
  // request.listen_fd.
  virtual absl::Status Start(const keeper::RankRequest& request,
                             bool is_command) = 0;

  // What holds now.
  virtual RankStatus Observe(const std::string& rank_dir) = 0;

  // Sees to it that a rank whose keeper has not shown up is never started, also
  // by one that comes late: it is kEnded from then on, as stopped. False: a
  // keeper is just coming up.
  virtual bool GiveUp(const std::string& rank_dir) = 0;

  // SIGTERM to the rank, SIGKILL to its tree after the attempt's grace.
  virtual void Stop(const std::string& rank_dir) = 0;

  // SIGKILL to the rank's tree now.
  virtual void Kill(const std::string& rank_dir) = 0;

  // Forgets a rank that ended.
  virtual void Forget(const std::string& rank_dir) = 0;

  virtual void Send(const std::string& rank_dir,
                    const link::Command& command) = 0;
};

}  // namespace epochd::process
