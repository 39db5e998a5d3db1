// SPDX-License-Identifier: Apache-2.0
//
// Who a process is, and who descends from it, from /proc. Functions of the
// moment: processes come and go while they look.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/link/attempt_folder.h"

namespace epochd::keeper {

// Changes with each boot of the machine.
std::string BootId();

// Field 22 of /proc/<pid>/stat; nullopt: no such process, or a zombie.
std::optional<int64_t> StartTicks(pid_t pid);

link::KeeperRecord IdentityOf(pid_t pid);

// True while the very process of the record lives (a zombie does not).
bool IsAlive(const link::KeeperRecord& record);

// A pidfd of the very process of the record; -1: it is gone.
int OpenPidfd(const link::KeeperRecord& record);

// Children of `root`, their children and so on, without `root`.
std::vector<pid_t> Descendants(pid_t root);

// Sum of anonymous and shared memory in RAM over these processes, bytes.
int64_t ResidentBytes(const std::vector<pid_t>& pids);

// Times that the kernel's OOM killer struck in our memory control group (v2
// or v1); 0 where that cannot be read.
int64_t OomKills();

// Kills what a keeper left that was itself killed: processes of its session,
// or whose environment names the rank's folder. Returns how many it found.
int KillStrays(const link::KeeperRecord& keeper, const std::string& rank_dir);

}  // namespace epochd::keeper
