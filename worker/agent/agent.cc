// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/agent/steady_clock.h"
#include "worker/agent/work_folder.h"

namespace epochd::agent {

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Agent::Agent(Options options, Transport& transport)
    : options_(std::move(options)),
      worker_(options_.worker),
      transport_(transport),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      remover_("remove"),
      runner_(options_.runner),
      spool_(transport, worker_,
             {.drained = [this] { Post([] {}); },
              .refused =
                  [this](const std::string& attempt) {
                    Post([this, attempt] { core_.Refuse(attempt); });
                  },
              .broken =
                  [this](const std::string& attempt, const std::string& problem,
                         bool lines) {
                    Post([this, attempt, problem, lines] {
                      core_.SpoolBroken(attempt, problem, lines);
                    });
                  },
              .stale =
                  [this](const absl::Status& status) {
                    if (status.code() == absl::StatusCode::kNotFound) {
                      Post([this] { session_.RegisterAgain(); });
                    }
                  }}),
      fetcher_(
          transport,
          [this](const std::string& attempt, const absl::Status& status) {
            Post([this, attempt, status] { core_.FetchDone(attempt, status); });
          }),
      core_(CoreOptions(), runner_, spool_, fetcher_),
      session_(transport, worker_,
               {.desired =
                    [this](DesiredState desired, bool registered) {
                      Post([this, desired = std::move(desired),
                            registered]() mutable {
                        core_.SetDesired(std::move(desired), registered);
                      });
                    },
                .renewed =
                    [this](absl::Time sent) {
                      spool_.Retry();
                      Post([this, sent] { core_.RenewLeases(sent); });
                    },
                .superseded =
                    [this] {
                      Post([this] {
                        outcome_ = absl::AbortedError(
                            absl::StrCat("worker name '", worker_.name,
                                         "': a newer agent has taken it over"));
                        spdlog::error("{}: ending all attempts",
                                      std::string(outcome_.message()));
                        Stop(/*end_attempts=*/true);
                      });
                    }}) {}

AgentCore::Options Agent::CoreOptions() {
  AgentCore::Options core = options_.core;
  core.remove_folder = [this](const std::string& dir) {
    remover_.Post([dir] {
      std::error_code error;
      std::filesystem::remove_all(dir, error);
      if (error) spdlog::warn("folder '{}': {}", dir, error.message());
    });
  };
  return core;
}

Agent::~Agent() {
  // Lets the threads of session and spool come back from their calls.
  transport_.Shutdown();
}

void Agent::Post(std::function<void()> task) {
  {
    const absl::MutexLock lock(&mutex_);
    tasks_.push_back(std::move(task));
  }
  const uint64_t one = 1;
  if (write(wake_fd_.get(), &one, sizeof one) < 0 && errno != EAGAIN) {
    spdlog::error("agent: eventfd: {}", strerror(errno));
  }
}

void Agent::RunTasks() {
  uint64_t count = 0;
  while (read(wake_fd_.get(), &count, sizeof count) > 0) {
  }
  std::deque<std::function<void()>> tasks;
  {
    const absl::MutexLock lock(&mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task();
}

void Agent::Stop(bool end_attempts) {
  Post([this, end_attempts] {
    if (!end_attempts) {
      leaving_ = true;
      return;
    }
    if (ending_) return;
    ending_ = true;
    end_deadline_ = SteadyNow() + options_.drain_timeout;
    core_.StopAll();
  });
}

AgentReport Agent::Report() const {
  // Leaving, too: nobody would start what came now.
  return {.attempts = core_.Observed(),
          .stopping = ending_ || leaving_,
          .not_ready = core_.not_ready()};
}

absl::Status Agent::TakeWorkDir() {
  const std::string& dir = options_.core.work_dir;
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  const std::string path = dir + "/lock";
  lock_fd_.set(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock_fd_.get() < 0) {
    return absl::UnavailableError(
        absl::StrCat("--work-dir: '", dir, "': ", strerror(errno)));
  }
  if (flock(lock_fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("--work-dir: '", dir, "' is in use by another agent"));
  }
  absl::StatusOr<std::string> id = FolderId(dir);
  if (!id.ok()) return id.status();
  worker_.folder_id = *std::move(id);
  return absl::OkStatus();
}

bool Agent::MayEnd(absl::Time now) {
  if (leaving_) return true;
  if (!ending_) return false;
  if (core_.IsIdle()) return true;
  // A coordinator that took our name from us takes no lines either.
  if (!outcome_.ok() && core_.num_active() == 0) return true;
  if (now < end_deadline_) return false;
  spdlog::warn("not all was handed in within {}",
               absl::FormatDuration(options_.drain_timeout));
  return true;
}

void Agent::WaitForChange(absl::Time end) {
  while (true) {
    const absl::Duration left =
        std::max(end - SteadyNow(), absl::ZeroDuration());
    pollfd waited[2] = {{.fd = wake_fd_.get(), .events = POLLIN, .revents = 0},
                        {.fd = runner_.fd(), .events = POLLIN, .revents = 0}};
    poll(waited, 2,
         static_cast<int>(absl::ToInt64Milliseconds(
             absl::Ceil(left, absl::Milliseconds(1)))));
    const bool posted = (waited[0].revents & POLLIN) != 0;
    const absl::Time now = SteadyNow();
    if (runner_.Poll(now) || posted || now >= end) return;
  }
}

absl::Status Agent::Run() {
  if (absl::Status taken = TakeWorkDir(); !taken.ok()) return taken;
  absl::Time now = SteadyNow();
  runner_.Poll(now);
  core_.Adopt(now);
  core_.Step(now);
  session_.Start(Report());
  while (true) {
    now = SteadyNow();
    const absl::Time next = core_.Step(now);
    // Decides first: what drains meanwhile is then in what is published last.
    const bool ends = MayEnd(now);
    session_.Publish(Report());
    if (ends) break;
    WaitForChange(std::min({next, now + absl::Seconds(1), end_deadline_}));
    RunTasks();
  }
  session_.Stop();
  return outcome_;
}

}  // namespace epochd::agent
