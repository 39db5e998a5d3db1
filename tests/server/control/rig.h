// SPDX-License-Identifier: Apache-2.0
//
// A Core with a clock that stands still, a store that can fail, and agents made
// of plain messages. One thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/control/core.h"
#include "server/store/memory_job_store.h"

namespace epochd::control {

class FakeClock final : public Clock {
 public:
  fleet::SteadyTime Steady() const override { return steady_; }
  absl::Time Wall() const override { return wall_; }
  void Advance(absl::Duration duration) {
    steady_ += duration;
    wall_ += duration;
  }
  void JumpWall(absl::Duration duration) { wall_ += duration; }

 private:
  fleet::SteadyTime steady_{absl::Hours(1)};
  absl::Time wall_ = absl::FromUnixSeconds(1700000000);
};

// Forwards to a store that keeps its content, but fails commits when told.
class FailingStore final : public store::JobStore {
 public:
  explicit FailingStore(store::JobStore& under) : under_(under) {}

  // Every commit returns this until it is OK again. Any thread.
  void FailWith(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    status_ = std::move(status);
  }
  int num_commits() const { return num_commits_; }
  // So many steps of sweeping say that there is more.
  void SetStepsToSweep(int num_steps) { steps_to_sweep_ = num_steps; }
  int num_sweeps() const { return num_sweeps_; }

  absl::StatusOr<store::Snapshot> Load() override { return under_.Load(); }
  absl::Status Commit(const store::Batch& batch) override {
    if (absl::Status status = Failure(); !status.ok()) return status;
    ++num_commits_;
    return under_.Commit(batch);
  }
  absl::Status Probe() override {
    const absl::Status status = Failure();
    return status.ok() ? under_.Probe() : status;
  }
  absl::StatusOr<std::vector<store::FinishedJob>> FinishedJobs(
      int32_t limit) override {
    return under_.FinishedJobs(limit);
  }
  absl::StatusOr<bool> Sweep(int32_t max_events) override {
    if (absl::Status status = Failure(); !status.ok()) return status;
    ++num_sweeps_;
    if (steps_to_sweep_ > 0) return --steps_to_sweep_ > 0;
    return under_.Sweep(max_events);
  }
  absl::StatusOr<std::shared_ptr<const job::Job>> ReadJob(
      job::JobId id) const override {
    return under_.ReadJob(id);
  }
  absl::StatusOr<std::vector<job::Event>> ReadEvents(
      job::JobId id, int64_t after, int32_t limit) const override {
    return under_.ReadEvents(id, after, limit);
  }
  absl::StatusOr<store::JobPage> ListJobs(
      const store::ListQuery& query) const override {
    return under_.ListJobs(query);
  }
  absl::StatusOr<job::JobId> FindRequest(
      std::string_view request_id) const override {
    return under_.FindRequest(request_id);
  }
  absl::StatusOr<job::JobId> FindDeletion(
      std::string_view request_id) const override {
    return under_.FindDeletion(request_id);
  }
  absl::StatusOr<bool> UsesFile(std::string_view sha256) const override {
    return under_.UsesFile(sha256);
  }

 private:
  absl::Status Failure() const {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

  store::JobStore& under_;
  mutable absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  int num_commits_ = 0;
  int steps_to_sweep_ = 0;
  int num_sweeps_ = 0;
};

class Rig {
 public:
  explicit Rig(Options options = {})
      : options_(std::move(options)), store_(disk_) {
    options_.random = [this] { return ++random_; };
    options_.on_fatal = [this](absl::Status status) {
      fatal_ = std::move(status);
    };
    Restart();
  }

  FakeClock& clock() { return clock_; }
  FailingStore& store() { return store_; }
  Core& core() { return *core_; }
  Board& board() { return core_->board(); }

  // The coordinator dies and starts again from what is stored.
  void Restart() {
    core_.reset();
    core_ = std::make_unique<Core>(options_, clock_, store_);
    const absl::Status loaded = core_->Load();
    ASSERT_TRUE(loaded.ok()) << loaded;
    Turn();
  }

  void Turn() {
    core_->BeginTurn();
    core_->Settle();
  }
  // Lets time pass with a turn each second, as the controller's thread does.
  void Pass(absl::Duration duration) {
    for (; duration > absl::ZeroDuration(); duration -= absl::Seconds(1)) {
      clock_.Advance(std::min(duration, absl::Seconds(1)));
      Turn();
    }
  }

  // Runs one command in a turn of its own; `call` gets a callback to pass on.
  template <typename T, typename Call>
  absl::StatusOr<T> Ask(Call call) {
    std::optional<absl::StatusOr<T>> answer;
    core_->BeginTurn();
    call(*core_, [&](absl::StatusOr<T> got) {
      EXPECT_FALSE(answer.has_value()) << "answered twice";
      answer = std::move(got);
    });
    core_->Settle();
    EXPECT_TRUE(answer.has_value()) << "not answered";
    return answer ? *std::move(answer) : absl::InternalError("not answered");
  }

  absl::StatusOr<JobView> Submit(std::shared_ptr<const job::JobSpec> spec,
                                 const std::string& request_id = "") {
    return Ask<JobView>([&](Core& core, Done<JobView> done) {
      core.Submit(std::move(spec), request_id, std::move(done));
    });
  }
  absl::StatusOr<JobView> Cancel(job::JobId id, const std::string& etag = "") {
    return Ask<JobView>([&](Core& core, Done<JobView> done) {
      core.Cancel(id, etag, std::move(done));
    });
  }
  absl::Status Delete(job::JobId id, const std::string& request_id = "") {
    return Ask<int>([&](Core& core, Done<int> done) {
             core.Delete(id, request_id,
                         [done = std::move(done)](absl::Status status) mutable {
                           if (status.ok()) return done(0);
                           done(status);
                         });
           })
        .status();
  }
  absl::StatusOr<RegisterResult> Register(
      const std::string& name, int num_cpus,
      const std::string& incarnation = "1", const std::string& boot = "boot",
      std::vector<ObservedAttempt> observed = {},
      const std::string& folder = "folder") {
    Registration registration;
    registration.worker.id = job::WorkerId(name);
    registration.worker.incarnation = job::Incarnation(incarnation);
    registration.worker.boot_id = boot;
    registration.worker.work_dir = folder;
    for (int i = 0; i < num_cpus; ++i) {
      registration.worker.devices.push_back(
          {"cpu:" + std::to_string(i), job::DeviceKind::kCpu, "", 0});
    }
    registration.observed = std::move(observed);
    return Ask<RegisterResult>([&](Core& core, Done<RegisterResult> done) {
      core.Register(std::move(registration), clock_.Steady(), std::move(done));
    });
  }
  absl::StatusOr<std::shared_ptr<const DesiredState>> Beat(
      const std::string& name, std::vector<ObservedAttempt> observed = {},
      const std::string& incarnation = "1", bool stopping = false,
      const std::string& not_ready = "") {
    Heartbeat heartbeat{job::WorkerId(name),
                        job::Incarnation(incarnation),
                        std::move(observed),
                        0,
                        stopping,
                        not_ready};
    return Ask<std::shared_ptr<const DesiredState>>(
        [&](Core& core, Done<std::shared_ptr<const DesiredState>> done) {
          core.SendHeartbeat(heartbeat, clock_.Steady(), std::move(done));
        });
  }
  absl::StatusOr<int64_t> Report(const std::string& name,
                                 const job::AttemptId& attempt, int64_t offset,
                                 const std::string& lines, int32_t rank = 0,
                                 const std::string& incarnation = "1") {
    return Ask<int64_t>([&](Core& core, Done<int64_t> done) {
      core.ReportEvents({job::WorkerId(name), job::Incarnation(incarnation),
                         attempt, rank, offset, lines},
                        std::move(done));
    });
  }

  JobView View(job::JobId id) {
    auto view = board().Get(id);
    EXPECT_TRUE(view.ok()) << view.status();
    return view.ok() ? *view : JobView{};
  }
  job::JobState State(job::JobId id) { return View(id).job->state; }
  std::vector<job::Event> Events(job::JobId id) {
    return disk_.ReadEvents(id, 0, 100000).value();
  }
  std::shared_ptr<const DesiredState> Desired(const std::string& name) {
    return board().Desired(job::WorkerId(name));
  }
  const absl::Status& fatal() const { return fatal_; }

 private:
  Options options_;
  FakeClock clock_;
  store::MemoryJobStore disk_;
  FailingStore store_;
  uint64_t random_ = 0;
  absl::Status fatal_;
  std::unique_ptr<Core> core_;
};

inline std::shared_ptr<job::JobSpec> Spec(int replicas = 1) {
  auto spec = std::make_shared<job::JobSpec>();
  spec->experiment_json = "{}";
  spec->resources.replicas = {replicas, replicas};
  return spec;
}

inline ObservedAttempt Seen(
    const job::AttemptId& attempt, job::AttemptState state,
    job::AttemptReason reason = job::AttemptReason::kUnspecified,
    bool drained = true) {
  ObservedAttempt observed;
  observed.attempt = attempt;
  observed.state = state;
  observed.reason = reason;
  observed.drained = state == job::AttemptState::kEnded && drained;
  return observed;
}

}  // namespace epochd::control
