// SPDX-License-Identifier: Apache-2.0
//
// Edges 1 to 3 and 6 of agent_core.h: from an attempt that is wanted to keepers
// that were asked for, or to a start that failed.
#include <spdlog/spdlog.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/agent/agent_core.h"
#include "worker/agent/rendezvous.h"
#include "worker/link/attempt_folder.h"

namespace epochd::agent {
namespace {

namespace fs = std::filesystem;

}  // namespace

void AgentCore::TakeOn(const DesiredAttempt& desired) {
  auto owned = std::make_unique<Attempt>();
  Attempt& attempt = *owned;
  attempts_[desired.name] = std::move(owned);
  attempt.name = desired.name;
  attempt.spec = desired.spec;
  attempt.may_start = desired.start;
  attempt.spec.pin_cpus = options_.pin_cpus;
  if (attempt.spec.storage.empty()) attempt.spec.storage = options_.storage;
  attempt.dir = absl::StrCat(options_.work_dir, "/attempts/", desired.spec.job,
                             "-", desired.spec.attempt);
  attempt.MakeRanks();
  if (!desired.run || stopping_all_) {
    // Wanted ended before we ever heard of it, or we are on our way out.
    EndUnstarted(attempt,
                 desired.run ? AttemptReason::kWorkerLost : desired.stop_reason,
                 desired.run ? "the worker is stopping" : "");
    if (attempt.reason == AttemptReason::kUnspecified) {
      attempt.reason = AttemptReason::kCancelled;
    }
    return;
  }
  spdlog::info("attempt {}: taken on with {} of {} ranks", attempt.name,
               attempt.ranks.size(), attempt.spec.world_size);
  attempt.lease_end = LeaseEnd(attempt.spec);
  if (LookForObstacle(); !not_ready_.empty()) {
    EndUnstarted(attempt, AttemptReason::kStartFailed, not_ready_);
    return;
  }
  if (const absl::Status made = MakeFolders(attempt); !made.ok()) {
    EndUnstarted(attempt, AttemptReason::kStartFailed,
                 std::string(made.message()));
    return;
  }
  if (attempt.needs_rendezvous() && attempt.has_rank_zero()) {
    auto socket =
        BindRendezvous(options_.advertise_host, !attempt.is_command());
    if (!socket.ok()) {
      EndUnstarted(attempt, AttemptReason::kStartFailed,
                   std::string(socket.status().message()));
      return;
    }
    attempt.rendezvous_fd = socket->fd;
    attempt.spec.rendezvous = socket->address;
  }
  if (!desired.files.empty()) {
    attempt.phase = Attempt::Phase::kFetching;
    fetcher_.Fetch(attempt.name, link::FilesDir(attempt.dir), desired.files);
  }
}

void AgentCore::LookForObstacle() {
  if (!options_.find_obstacle) return;
  std::string found = options_.find_obstacle();
  if (found.empty() != not_ready_.empty()) {
    if (found.empty()) {
      spdlog::info("attempts can be started again");
    } else {
      spdlog::warn("nothing can be started: {}", found);
    }
  }
  not_ready_ = std::move(found);
}

absl::Status AgentCore::MakeFolders(const Attempt& attempt) {
  std::error_code error;
  const auto make = [&](const std::string& dir) {
    if (!error) fs::create_directories(dir, error);
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("attempt folder '", dir, "': ", error.message()));
    }
    return absl::OkStatus();
  };
  if (absl::Status made = make(link::FilesDir(attempt.dir)); !made.ok()) {
    return made;
  }
  for (const Attempt::Rank& rank : attempt.ranks) {
    if (absl::Status made = make(rank.dir); !made.ok()) return made;
  }
  return absl::OkStatus();
}

void AgentCore::FetchDone(const std::string& name, const absl::Status& status) {
  const auto it = attempts_.find(name);
  if (it == attempts_.end()) return;
  Attempt& attempt = *it->second;
  if (attempt.phase != Attempt::Phase::kFetching) return;
  if (!status.ok()) {
    // A path that leads out of the work folder does so on every worker.
    EndUnstarted(attempt,
                 absl::IsInvalidArgument(status) ? AttemptReason::kBadSpec
                                                 : AttemptReason::kStartFailed,
                 std::string(status.message()));
    return;
  }
  attempt.phase = Attempt::Phase::kMeeting;
}

void AgentCore::StartRanks(Attempt& attempt, absl::Time now) {
  if (attempt.lease_end != absl::InfiniteFuture()) {
    attempt.spec.lease_end_ns = absl::ToUnixNanos(attempt.lease_end);
  }
  try {
    link::ReplaceFile(link::SpecPath(attempt.dir), link::ToJson(attempt.spec),
                      /*sync=*/false);
  } catch (const std::system_error& error) {
    EndUnstarted(attempt, AttemptReason::kStartFailed, error.what());
    return;
  }
  attempt.phase = Attempt::Phase::kStarting;
  attempt.start_deadline = now + options_.start_timeout;
  for (Attempt::Rank& rank : attempt.ranks) {
    const absl::Status asked = runner_.Start(
        {.attempt_dir = attempt.dir,
         .rank = rank.rank,
         .listen_fd = rank.rank == 0 ? attempt.rendezvous_fd : -1},
        attempt.is_command());
    rank.asked = asked.ok();
    if (!asked.ok() && attempt.message.empty()) {
      attempt.reason = AttemptReason::kStartFailed;
      attempt.message = absl::StrCat(Where(attempt), " rank ", rank.rank,
                                     ": cannot be started: ", asked.message());
    }
  }
  attempt.CloseRendezvous();
}

void AgentCore::EndUnstarted(Attempt& attempt, AttemptReason reason,
                             const std::string& problem) {
  attempt.CloseRendezvous();
  attempt.phase = Attempt::Phase::kEnded;
  attempt.reason = reason;
  // What made it fail may keep all others from being started, too.
  if (reason == AttemptReason::kStartFailed) LookForObstacle();
  if (!problem.empty()) {
    attempt.message = absl::StrCat(Where(attempt), ": ", problem);
    spdlog::warn("attempt {}: not started: {}", attempt.name, problem);
  }
}

}  // namespace epochd::agent
