// SPDX-License-Identifier: Apache-2.0
//
// The keeper: one small process above each rank. It outlives agent and warm
// parent, and is the only one that knows for certain when all of a rank is
// gone.
//
//   setsid, subreaper, lock on the rank's folder   no second keeper can start
//   keeper.json
//   fork the rank: own process group, PDEATHSIG, clean environment, log
//   wait  SIGTERM -> SIGTERM to the rank's group; after spec.stop_grace
//                    SIGKILL to every descendant
//         SIGQUIT -> SIGKILL to every descendant now
//         tree over spec.memory_bytes (sum of RssAnon + RssShmem, looked at
//                    four times a second) -> SIGKILL, oom
//         `lease` over, for ranks that run a command -> SIGKILL, code 76
//   rank ended -> SIGKILL what is left of the tree until nothing is
//   exit.json
//
// The memory limit is watched, not set as a rlimit: RLIMIT_AS and RLIMIT_DATA
// count address space, of which LibTorch and CUDA take far more than memory.
//
// Single-threaded, no LibTorch, no gRPC: linked by trainer and agent.
#pragma once

#include "worker/process/keeper/rank_request.h"

namespace epochd::keeper {

// Detaches the calling process from its parent by a double fork and keeps the
// rank in the grandchild. Returns in the caller once the keeper is on its way:
// 0, or the errno of a fork that failed. The caller must have one thread only.
// The grandchild never returns.
//
// An attempt with a command runs it; else `rank_main` is called.
int StartKeeper(const RankRequest& request, const RankMain& rank_main);

// Keeps the rank in the calling process, which must be made for it: single
// thread, parent does not wait. Returns the exit code for the process: 0 once
// exit.json is written, 1 when the rank's folder has another keeper or an
// exit.json already.
int RunKeeper(const RankRequest& request, const RankMain& rank_main);

// A RankMain that becomes `program --attempt-dir D --rank R [--listen-fd N]`.
RankMain ExecRank(const std::string& program);

}  // namespace epochd::keeper
