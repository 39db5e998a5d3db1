// SPDX-License-Identifier: Apache-2.0
//
// One coordinator, some nodes, clients and everything between them that can go
// wrong, in one thread on a clock of its own. The same seed gives the same run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "tests/server/control/rig.h"
#include "tests/sim/dice.h"
#include "tests/sim/node.h"

namespace epochd::sim {

class World {
 public:
  explicit World(uint64_t seed);

  // Lets everything go wrong for a while, then heals and waits until all jobs
  // are finished. gtest failures tell what was broken.
  void Run();
  // The same, but all that goes wrong is the network: a random part of the
  // nodes is cut off one by one and comes back in another order. All are heard
  // again soon after the last.
  void RunSwizzled();
  // One gang on a network that does this to its n-th message and nothing else.
  // Returns whether there was such a message.
  enum class Fault { kLost, kTwice, kLate };
  bool RunOneJob(Fault fault, int64_t n);

  // Everything that was committed, as one number.
  uint64_t Trace() const;
  int num_succeeded() const { return num_succeeded_; }
  // Those of them that had to, and did, leave every line in the journal: their
  // worker was heard all the while.
  int num_whole() const { return num_whole_; }

 private:
  using Action = std::function<void()>;
  struct Timed {
    fleet::SteadyTime at;
    int64_t order;
    Action action;
    bool operator>(const Timed& other) const {
      return at != other.at ? other.at < at : order > other.order;
    }
  };
  struct Request {
    std::string id;
    std::shared_ptr<const job::JobSpec> spec;
    std::optional<job::JobId> job;
  };

  fleet::SteadyTime now() const { return clock_.Steady(); }
  void After(absl::Duration delay, Action action);
  // Over the network: late, twice or never. What is on its way to the
  // coordinator is lost with it, as are its connections.
  void Send(const std::string& node, Action deliver);
  void SendUp(const std::string& node, Action deliver);
  void RunUntil(fleet::SteadyTime until);
  void Settle();

  void StartCoordinator();
  void AddNode(int number);
  void WatchDesired(Node& node);
  void OnRegistration(Node& node, const control::Registration& registration,
                      fleet::SteadyTime sent);
  void OnBeat(Node& node, const control::Heartbeat& heartbeat,
              fleet::SteadyTime sent);
  void OnLines(Node& node, const control::EventLines& lines);
  void OnProcessBegan(const Node& node, const job::AttemptId& attempt);
  // Into the log, for whoever follows one seed.
  void Say(const std::string& what) const;
  void Submit(size_t request);
  void Nemesis();
  // A second agent, on a folder of its own, comes under this name.
  void Impersonate(const std::string& name);
  // Returns when the last one is back.
  absl::Duration Swizzle();
  void Heal();
  void Finish();
  void Client();

  // I3, I7, I12: of what anybody can see now.
  void CheckNow();
  // I1, I2, I3, I5, I6: of what is stored in the end.
  void CheckEnd();
  // Where a job stands and who holds what, for failures.
  std::string Describe(job::JobId id);
  void CheckJournal(const job::Job& job);

  Dice dice_;
  control::FakeClock clock_;
  store::MemoryJobStore disk_;
  control::FailingStore store_;
  std::unique_ptr<control::Core> core_;
  // Answers to a coordinator that is no more are lost.
  int64_t life_ = 0;
  fleet::SteadyTime core_next_;
  bool must_settle_ = false;

  std::priority_queue<Timed, std::vector<Timed>, std::greater<Timed>> queue_;
  int64_t num_actions_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::string, std::unique_ptr<control::Subscription>> watches_;
  std::set<std::string> cut_off_;
  bool chaos_ = true;
  bool has_nemesis_ = true;
  int64_t num_messages_ = 0;
  // What becomes of which message; 0: of none.
  Fault fault_ = Fault::kLost;
  int64_t faulty_message_ = 0;

  std::vector<Request> requests_;
  // When the coordinator heard a node again, and after how long; a reboot or a
  // lost folder loses what was not handed in just as well.
  struct Silence {
    fleet::SteadyTime end;
    absl::Duration length;
  };
  std::map<std::string, std::vector<Silence>> silences_;
  std::map<std::string, fleet::SteadyTime> heard_;
  // When the first process of each attempt began.
  std::map<job::AttemptId, fleet::SteadyTime> began_;
  int num_succeeded_ = 0;
  int num_whole_ = 0;
  // What a client that watches each job saw last.
  std::map<job::JobId, int64_t> cursors_;
};

}  // namespace epochd::sim
