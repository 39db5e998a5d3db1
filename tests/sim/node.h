// SPDX-License-Identifier: Apache-2.0
//
// A worker node: an agent with its trainers, as the coordinator's contract
// wants it to behave. Trainers outlive the agent; a reboot ends them all.
//
// The rules that the coordinator relies on, and that a real agent has to keep:
//   - the lease counts from when an answered call was sent; trainers end
//     themselves self_fence_after later;
//   - nothing is started under a lapsed lease, nor from an older desired state,
//     nor before the coordinator says that every agent is ready;
//   - an agent on another work folder says so: what ran in the old one lives on
//     until its lease ends, and nobody renews that;
//   - an attempt to be stopped that is not known here is reported as ended;
//   - what is not desired is ended and forgotten; what ended is reported until
//     it is no longer desired.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/control/agent_messages.h"
#include "server/fleet/steady_time.h"
#include "tests/sim/dice.h"

namespace epochd::sim {

class Node {
 public:
  // What the agent sends; the world delivers it or not.
  struct Outbox {
    std::function<void(control::Registration, fleet::SteadyTime sent)> reg;
    std::function<void(control::Heartbeat, fleet::SteadyTime sent)> beat;
    std::function<void(control::EventLines)> lines;
    // A rank process of this attempt starts to run.
    std::function<void(job::AttemptId)> process_began;
  };

  Node(std::string name, int num_cpus, Dice& dice, Outbox outbox);

  const std::string& name() const { return name_; }
  int num_cpus() const { return num_cpus_; }

  // Called every half second.
  void Tick(fleet::SteadyTime now);
  // An answered call that was sent at `sent`, or a push (`sent` empty).
  void OnDesired(std::shared_ptr<const control::DesiredState> desired,
                 std::optional<fleet::SteadyTime> sent, fleet::SteadyTime now);
  void OnRegistered() { registered_ = true; }
  // The coordinator does not know this agent (any more).
  void OnUnknown() { registered_ = false; }
  void OnLinesTaken(const control::EventLines& lines, int64_t next);
  void OnLinesRefused(const control::EventLines& lines);

  void KillAgent(fleet::SteadyTime now);
  void Reboot(fleet::SteadyTime now);
  // The agent comes back on an empty work folder; trainers live on.
  void LoseFolder(fleet::SteadyTime now);

  bool registered() const { return registered_; }
  const std::string& incarnation() const { return incarnation_; }
  // Attempts that have a living process here.
  std::vector<job::AttemptId> Alive() const;
  // Those of them that no agent knows any more.
  std::vector<job::AttemptId> Orphans() const;
  // Seed of chaos: trainers may fail on their own while this is set.
  void set_failing(bool failing) { failing_ = failing; }

 private:
  struct Running {
    control::DesiredAttempt order;
    job::AttemptState state = job::AttemptState::kStarting;
    job::AttemptReason reason = job::AttemptReason::kUnspecified;
    fleet::SteadyTime next_step;
    // Its process was started.
    bool began = false;
    int epochs_done = 0;
    bool trained = false;
    // events.jsonl of rank 0, and how much of it is acknowledged.
    std::string spool;
    int64_t acknowledged = 0;
  };

  void MaybeBegin(Running& running);
  std::vector<control::ObservedAttempt> Observe() const;
  void Step(Running& running, fleet::SteadyTime now);
  void End(Running& running, job::AttemptReason reason);
  void Say(Running& running, const std::string& line);
  static bool LeadsHere(const Running& running);

  const std::string name_;
  const int num_cpus_;
  Dice& dice_;
  const Outbox outbox_;

  std::string incarnation_;
  std::string boot_;
  std::string folder_;
  bool registered_ = false;
  bool agent_alive_ = true;
  bool failing_ = true;
  int64_t sequence_ = 0;
  int64_t seen_version_ = 0;
  fleet::SteadyTime next_beat_;
  fleet::SteadyTime agent_back_;
  // When the last answered call was sent.
  fleet::SteadyTime lease_;
  std::map<job::AttemptId, Running> attempts_;
  // When their lease ends.
  std::map<job::AttemptId, fleet::SteadyTime> orphans_;
};

}  // namespace epochd::sim
