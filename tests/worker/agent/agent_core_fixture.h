// SPDX-License-Identifier: Apache-2.0
//
// An AgentCore with ranks, a spool and files that live in memory. The test
// decides what becomes of them and moves the clock. One thread.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/worker/link/temp_dir.h"
#include "worker/agent/agent_core.h"
#include "worker/link/attempt_folder.h"

namespace epochd::agent {

// Ranks that live in memory; the test decides what becomes of them.
class FakeRunner final : public process::RankRunner {
 public:
  absl::Status Start(const keeper::RankRequest& request, bool) override {
    if (!fail_starts.empty()) return absl::UnavailableError(fail_starts);
    const std::string dir = link::RankDir(request.attempt_dir, request.rank);
    started.push_back(dir);
    had_socket[dir] = request.listen_fd >= 0;
    if (keepers_come_up)
      ranks[dir].phase = process::RankStatus::Phase::kRunning;
    return absl::OkStatus();
  }
  process::RankStatus Observe(const std::string& rank_dir) override {
    return ranks[rank_dir];
  }
  bool GiveUp(const std::string& rank_dir) override {
    if (!may_give_up) return false;
    given_up.insert(rank_dir);
    process::RankStatus& rank = ranks[rank_dir];
    rank.phase = process::RankStatus::Phase::kEnded;
    rank.exit.exit_code = 71;
    rank.exit.stopped = true;
    return true;
  }
  void Stop(const std::string& rank_dir) override { stopped.insert(rank_dir); }
  void Kill(const std::string& rank_dir) override { killed.insert(rank_dir); }
  void Forget(const std::string&) override {}
  void Send(const std::string& rank_dir,
            const link::Command& command) override {
    sent[rank_dir] = command;
    names_sent.push_back(command.name);
  }

  void End(const std::string& dir, int code, int64_t end = 1) {
    process::RankStatus& rank = ranks[dir];
    rank.phase = process::RankStatus::Phase::kEnded;
    rank.exit.exit_code = code;
    rank.exit.end_ns = end;
    rank.exit.stopped = stopped.count(dir) > 0 || killed.count(dir) > 0;
  }

  std::string fail_starts;
  bool keepers_come_up = true;
  bool may_give_up = true;
  std::vector<std::string> started;
  std::map<std::string, bool> had_socket;
  std::map<std::string, process::RankStatus> ranks;
  std::set<std::string> stopped;
  std::set<std::string> killed;
  std::set<std::string> given_up;
  std::map<std::string, link::Command> sent;
  std::vector<std::string> names_sent;
};

class FakeSpool final : public Spool {
 public:
  void Add(const std::string& attempt, int rank, const std::string&) override {
    added.insert(absl::StrCat(attempt, "#", rank));
  }
  void SetEnded(const std::string& attempt, int rank) override {
    ended.insert(absl::StrCat(attempt, "#", rank));
  }
  bool IsDrained(const std::string&) override { return drained; }
  int64_t Acknowledged(const std::string&) override { return acknowledged; }
  void Remove(const std::string& attempt) override { removed.insert(attempt); }

  bool drained = false;
  int64_t acknowledged = 0;
  std::set<std::string> added;
  std::set<std::string> ended;
  std::set<std::string> removed;
};

class FakeFetcher final : public FileFetcher {
 public:
  void Fetch(const std::string& attempt, const std::string&,
             std::vector<CarriedFile>) override {
    asked.push_back(attempt);
  }
  std::vector<std::string> asked;
};

class AgentCoreTest : public ::testing::Test {
 protected:
  AgentCoreTest() { Restart(); }

  // A new agent on the same work-dir.
  void Restart() {
    core_ = std::make_unique<AgentCore>(
        AgentCore::Options{
            .work_dir = dir_.path(),
            .storage = "/storage",
            .advertise_host = "127.0.0.1",
            .hostname = "host-a",
            .remove_folder =
                [this](const std::string& dir) { removed_.push_back(dir); },
            .find_obstacle =
                [this] {
                  ++num_looks_;
                  return obstacle_;
                }},
        runner_, spool_, fetcher_);
    core_->Adopt(now_);
  }

  static DesiredAttempt Wanted(const std::string& job, int ranks_here,
                               int world_size, int first_rank = 0) {
    DesiredAttempt desired;
    desired.name = absl::StrCat("jobs/", job, "/attempts/1");
    desired.spec.job = job;
    desired.spec.world_size = world_size;
    desired.spec.experiment_json = "{}";
    for (int i = 0; i < ranks_here; ++i) {
      desired.spec.ranks.push_back(
          {.rank = first_rank + i, .local_rank = i, .devices = {"cpu:0"}});
    }
    return desired;
  }

  void Want(std::vector<DesiredAttempt> attempts) {
    core_->SetDesired({.version = ++version_, .attempts = std::move(attempts)},
                      false);
    Step();
  }

  void Step(absl::Duration passed = absl::Milliseconds(1)) {
    now_ += passed;
    core_->Step(now_);
  }

  ObservedAttempt Observed(const std::string& job = "a") {
    for (const ObservedAttempt& attempt : core_->Observed()) {
      if (attempt.name == absl::StrCat("jobs/", job, "/attempts/1")) {
        return attempt;
      }
    }
    return {};
  }

  std::string AttemptDir(const std::string& job = "a") {
    return dir_ / ("attempts/" + job + "-1");
  }
  std::string RankDir(int rank, const std::string& job = "a") {
    return link::RankDir(AttemptDir(job), rank);
  }

  const TempDir dir_;
  FakeRunner runner_;
  FakeSpool spool_;
  FakeFetcher fetcher_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  int64_t version_ = 0;
  std::vector<std::string> removed_;
  std::string obstacle_;
  int num_looks_ = 0;
  std::unique_ptr<AgentCore> core_;
};

}  // namespace epochd::agent
