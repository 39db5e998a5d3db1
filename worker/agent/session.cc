// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/session.h"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/random/random.h"
#include "worker/agent/steady_clock.h"

namespace epochd::agent {

Session::Session(Transport& transport, const WorkerInfo& worker,
                 Callbacks callbacks)
    : transport_(transport),
      worker_(worker),
      callbacks_(std::move(callbacks)) {}

Session::~Session() {
  Stop();
  if (watch_.joinable()) watch_.join();
}

void Session::Start(AgentReport report) {
  {
    const absl::MutexLock lock(&mutex_);
    report_ = std::move(report);
    published_ = 1;
  }
  heartbeats_ = std::thread([this] { RunHeartbeats(); });
  watch_ = std::thread([this] { RunWatch(); });
  pthread_setname_np(heartbeats_.native_handle(), "heartbeats");
  pthread_setname_np(watch_.native_handle(), "watch");
}

void Session::Publish(AgentReport report) {
  const absl::MutexLock lock(&mutex_);
  if (report == report_) return;
  report_ = std::move(report);
  ++published_;
}

void Session::RegisterAgain() {
  const absl::MutexLock lock(&mutex_);
  if (state_ == State::kRegistered) state_ = State::kUnknown;
}

void Session::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (heartbeats_.joinable()) heartbeats_.join();
}

bool Session::Pause(int num_failures, const absl::Status& failure) {
  absl::BitGen random;
  const absl::MutexLock lock(&mutex_);
  return !mutex_.AwaitWithTimeout(absl::Condition(&stopping_),
                                  retry_.Delay(num_failures, random, failure));
}

void Session::Settle(const absl::Status& status) {
  if (status.code() == absl::StatusCode::kNotFound) {
    RegisterAgain();
  } else if (status.code() == absl::StatusCode::kAborted) {
    {
      const absl::MutexLock lock(&mutex_);
      if (stopping_ || state_ == State::kSuperseded) return;
      state_ = State::kSuperseded;
    }
    callbacks_.superseded();
  }
}

void Session::RunHeartbeats() {
  while (RegisterUntilKnown()) {
    while (Beat()) {
    }
    const absl::MutexLock lock(&mutex_);
    if (stopping_ || state_ == State::kSuperseded) return;
  }
}

bool Session::RegisterUntilKnown() {
  std::string told_error;
  for (int num_failures = 0;;) {
    AgentReport report;
    int64_t number = 0;
    {
      const absl::MutexLock lock(&mutex_);
      if (stopping_ || state_ == State::kSuperseded) return false;
      report = report_;
      number = published_;
    }
    const absl::Time sent = SteadyNow();
    absl::StatusOr<Registered> answer = transport_.Register(worker_, report);
    if (answer.ok()) {
      spdlog::info("registered as '{}' with {} devices", worker_.name,
                   worker_.devices.size());
      // The lease first: nothing starts without one.
      callbacks_.renewed(sent);
      callbacks_.desired(std::move(answer->desired), /*registered=*/true);
      const absl::MutexLock lock(&mutex_);
      state_ = State::kRegistered;
      told_ = number;
      interval_ = std::max(answer->heartbeat_interval, absl::Milliseconds(10));
      return true;
    }
    Settle(answer.status());
    const std::string error(answer.status().message());
    if (error != told_error) {
      spdlog::warn("cannot register, trying again: {}", error);
      told_error = error;
    }
    if (!Pause(++num_failures, answer.status())) return false;
  }
}

bool Session::Beat() {
  AgentReport report;
  int64_t number = 0;
  {
    const absl::MutexLock lock(&mutex_);
    const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || state_ != State::kRegistered || published_ != told_;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&due), interval_);
    if (state_ != State::kRegistered) return false;
    if (stopping_ && published_ == told_) return false;
    report = report_;
    number = published_;
  }
  for (int num_failures = 0;;) {
    const absl::Time sent = SteadyNow();
    absl::StatusOr<DesiredState> desired =
        transport_.Heartbeat(worker_, report);
    if (desired.ok()) {
      callbacks_.renewed(sent);
      callbacks_.desired(std::move(*desired), /*registered=*/false);
      const absl::MutexLock lock(&mutex_);
      told_ = number;
      // What was published during the call is still to be told.
      return !stopping_ || published_ != told_;
    }
    if (num_failures == 0) {
      spdlog::warn("heartbeat: {}", std::string(desired.status().message()));
    }
    Settle(desired.status());
    if (!Pause(++num_failures, desired.status())) return false;
    const absl::MutexLock lock(&mutex_);
    if (state_ != State::kRegistered) return false;
    // Tells the newest when it gets through.
    report = report_;
    number = published_;
  }
}

void Session::RunWatch() {
  const auto may_watch = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || state_ != State::kUnknown;
  };
  for (int num_failures = 0;;) {
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&may_watch));
      if (stopping_ || state_ == State::kSuperseded) return;
    }
    const absl::Status status =
        transport_.WatchDesired(worker_, [&](DesiredState desired) {
          num_failures = 0;
          callbacks_.desired(std::move(desired), /*registered=*/false);
        });
    Settle(status);
    if (!Pause(++num_failures, status)) return;
  }
}

}  // namespace epochd::agent
