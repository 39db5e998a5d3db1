// SPDX-License-Identifier: Apache-2.0
//
// The warm parent: `epochd-trainer --warm FD`. A process that has loaded what
// is slow to load, has started no thread and touched no GPU, and forks a
// keeper, and so a rank, on request.
//
// Protocol over a SOCK_SEQPACKET socketpair, JSON, one object a message:
//   parent -> agent  {"ready": true}                        once
//   agent -> parent  {"id": N, "attempt_dir": D, "rank": R} + the rendezvous
//                    socket by SCM_RIGHTS for rank 0 of more than one
//   parent -> agent  {"id": N, "errno": 0}                  one per request
// It ends when the agent's end closes. Keepers live on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "worker/process/keeper/rank_request.h"

namespace epochd::keeper {

// Serves until the agent's end closes; returns the process's exit code. In a
// rank's process it does not return: rank_main's code is the exit code.
int RunWarmParent(int socket_fd, const RankMain& rank_main);

// The agent's half of the protocol. Sends without blocking; false: the warm
// parent is gone or its queue is full (errno says).
bool SendRankRequest(int socket_fd, int64_t id, const RankRequest& request);

struct WarmReply {
  // Whether it says that it takes requests; else what became of one.
  bool ready = false;
  int64_t id = 0;
  // Of the fork; 0: the keeper is on its way.
  int error = 0;
};

// Never blocks; nullopt: nothing to read. `is_open` is false once the warm
// parent's end is closed.
std::optional<WarmReply> ReceiveWarmReply(int socket_fd, bool& is_open);

}  // namespace epochd::keeper
