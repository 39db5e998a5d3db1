// SPDX-License-Identifier: Apache-2.0
//
// The agent: joins the core with processes, the coordinator and the clock. Its
// core runs in the thread that calls Run; other threads post to it.
//
// Order of the end: attempts are ended or left, the last state is told, the
// transport is shut down, threads are joined. Keepers and ranks that were left
// go on; the next agent on this work-dir takes them over.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "worker/agent/agent_core.h"
#include "worker/agent/background.h"
#include "worker/agent/carried_files.h"
#include "worker/agent/session.h"
#include "worker/agent/spool_forwarder.h"
#include "worker/agent/transport.h"
#include "worker/agent/types.h"
#include "worker/process/local_rank_runner.h"

namespace epochd::agent {

// A file descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void set(int fd) { fd_ = fd; }

 private:
  int fd_;
};

class Agent {
 public:
  struct Options {
    AgentCore::Options core;
    process::LocalRankRunner::Options runner;
    WorkerInfo worker;
    // Longest time that ending attempts and handing in the last lines takes
    // when asked to stop.
    absl::Duration drain_timeout = absl::Seconds(90);
  };

  // `transport` outlives it.
  Agent(Options options, Transport& transport);
  ~Agent();

  // Works until Stop. FAILED_PRECONDITION when another agent uses the work-dir;
  // ABORTED once a newer agent took the name, with all attempts ended.
  absl::Status Run();

  // Makes Run return: at once, leaving attempts to the next agent, or with
  // `end_attempts` after they were stopped. Any thread, safe to repeat.
  void Stop(bool end_attempts);

 private:
  // The core's options with what only the agent can give.
  AgentCore::Options CoreOptions();
  void Post(std::function<void()> task);
  // Makes the work-dir ours alone and learns its id.
  absl::Status TakeWorkDir();
  AgentReport Report() const;
  void RunTasks();
  // Returns when a task was posted, a rank may have changed, or at `end`.
  void WaitForChange(absl::Time end);
  bool MayEnd(absl::Time now);

  const Options options_;
  // Complete before a thread reads it: when Run begins.
  WorkerInfo worker_;
  Transport& transport_;
  // Declared before the parts whose threads write to it.
  const Descriptor wake_fd_;
  Descriptor lock_fd_;

  absl::Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);

  // Used by Run's thread alone.
  bool leaving_ = false;
  bool ending_ = false;
  absl::Status outcome_;
  absl::Time end_deadline_ = absl::InfiniteFuture();

  Background remover_;
  process::LocalRankRunner runner_;
  SpoolForwarder spool_;
  CarriedFileFetcher fetcher_;
  AgentCore core_;
  Session session_;
};

}  // namespace epochd::agent
