// SPDX-License-Identifier: Apache-2.0
//
// Desired against observed: takes what the coordinator wants, looks at what
// runs, and does the difference. Knows no gRPC, no thread and no clock; `now`
// is of the steady clock. One thread.
//
// An attempt on this node:
//
//   taken on --1--> fetching files --2--> waiting for the rendezvous
//      |                 |                    |
//      +--------3--------+---------3----------+--> starting --4--> running
//      |                                              |               |
//      |                                              +---5--> stopping
//      +--6--> ended <----------7------------------------------------+
//
//   1 it carries files              2 they are there
//   3 all agents are ready, attempt.json is written, keepers are asked for
//   4 every keeper lives            5 not wanted, a rank failed, lease over,
//                                     hang, nobody takes its lines
//   6 cannot be started, or no longer wanted before it was
//   7 no process of it is left
//
// An ended attempt is reported until the coordinator no longer lists it; then,
// drained, its folder is removed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "worker/agent/attempt.h"
#include "worker/agent/spool.h"
#include "worker/agent/types.h"
#include "worker/process/rank_runner.h"

namespace epochd::agent {

class AgentCore {
 public:
  struct Options {
    // Attempts stand in work_dir/attempts.
    std::string work_dir;
    // Storage root of jobs that name none.
    std::string storage;
    std::string advertise_host;
    // Stands in messages.
    std::string hostname;
    bool pin_cpus = false;
    // Deletes a folder that was moved out of the way, in its own time: a work
    // folder may hold anything.
    std::function<void(const std::string& dir)> remove_folder;
    // Says why nothing can be started here now, such as a full disk; empty:
    // nothing stands in the way. Asked before each start, after one that
    // failed, and every few seconds. Without it nothing ever does.
    std::function<std::string()> find_obstacle;
    // A keeper that has not shown up by then is not waited for, nor let in.
    absl::Duration start_timeout = absl::Seconds(60);
  };

  // All three outlive the core.
  AgentCore(Options options, process::RankRunner& runner, Spool& spool,
            FileFetcher& fetcher);
  ~AgentCore();

  // Takes over what an earlier agent left. Call once, first.
  void Adopt(absl::Time now);

  // An older version than seen is ignored, but never the first after a
  // registration.
  void SetDesired(DesiredState desired, bool registered);
  // The coordinator heard of us at `sent`: leases run from then.
  // Nothing is started before, or once the last one is over.
  void RenewLeases(absl::Time sent);
  void FetchDone(const std::string& attempt, const absl::Status& status);
  // The coordinator takes nothing of this attempt any more.
  void Refuse(const std::string& attempt);
  // Something of it never reaches the coordinator, which is told. Without its
  // `lines` an attempt is of no use and ended.
  void SpoolBroken(const std::string& attempt, const std::string& problem,
                   bool lines);
  // Ends everything and takes nothing new on.
  void StopAll();

  // Looks at all ranks and does what is to be done. Returns when to look
  // again at the latest.
  absl::Time Step(absl::Time now);

  std::vector<ObservedAttempt> Observed() const;
  // Why nothing can be started here now; empty: nothing stands in the way.
  const std::string& not_ready() const { return not_ready_; }
  // No rank is alive, and everything was acknowledged.
  bool IsIdle() const;
  int num_active() const;

 private:
  // What is said of an attempt whose lease was over.
  static constexpr char kLeaseOver[] =
      "no word from the coordinator until its lease was over";

  // ---- agent_core.cc --------------------------------------------------------
  void Advance(Attempt& attempt, absl::Time now);
  // When a lease that is held now ends; for ever where there is none.
  absl::Time LeaseEnd(const link::AttemptSpec& spec) const;
  void SendLeases(Attempt& attempt);
  std::string Where(const Attempt& attempt) const;

  // ---- agent_core_start.cc --------------------------------------------------
  void LookForObstacle();
  void TakeOn(const DesiredAttempt& desired);
  absl::Status MakeFolders(const Attempt& attempt);
  void StartRanks(Attempt& attempt, absl::Time now);
  void EndUnstarted(Attempt& attempt, AttemptReason reason,
                    const std::string& problem);

  // ---- agent_core_ranks.cc --------------------------------------------------
  void Look(Attempt& attempt, absl::Time now);
  void LookAt(Attempt& attempt, Attempt::Rank& rank);
  // Keepers that have not shown up are not let in any more.
  void GiveUpAbsent(Attempt& attempt);
  void StopIfDue(Attempt& attempt, absl::Time now);
  void StopIfHanging(Attempt& attempt, absl::Time now);
  void DumpStacks(const Attempt& attempt);
  void FinishIfGone(Attempt& attempt);
  std::string Blame(const Attempt& attempt, int rank,
                    const std::string& how) const;

  // ---- agent_core_folders.cc ------------------------------------------------
  bool AdoptOne(const std::string& dir, absl::Time now);
  void RemoveForgotten();
  void Discard(const std::string& dir);

  const Options options_;
  process::RankRunner& runner_;
  Spool& spool_;
  FileFetcher& fetcher_;
  std::map<std::string, std::unique_ptr<Attempt>> attempts_;
  DesiredState desired_;
  bool desired_known_ = false;
  // When the last answered call to the coordinator was sent.
  absl::Time renewed_ = absl::InfinitePast();
  bool stopping_all_ = false;
  std::string not_ready_;
  // When find_obstacle is asked again.
  absl::Time next_look_ = absl::InfinitePast();
  int64_t num_discarded_ = 0;
};

}  // namespace epochd::agent
