// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/agent_core.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/link/command.h"

namespace epochd::agent {
namespace {

using process::RankStatus;

constexpr absl::Duration kLongestStep = absl::Seconds(1);
// Between looks whether anything keeps attempts from being started.
constexpr absl::Duration kObstacleInterval = absl::Seconds(5);

}  // namespace

AgentCore::AgentCore(Options options, process::RankRunner& runner, Spool& spool,
                     FileFetcher& fetcher)
    : options_(std::move(options)),
      runner_(runner),
      spool_(spool),
      fetcher_(fetcher) {}

AgentCore::~AgentCore() {
  for (auto& [name, attempt] : attempts_) attempt->CloseRendezvous();
}

void AgentCore::SetDesired(DesiredState desired, bool registered) {
  if (!registered && desired_known_ && desired.version < desired_.version) {
    return;
  }
  desired_ = std::move(desired);
  desired_known_ = true;
}

void AgentCore::RenewLeases(absl::Time sent) {
  renewed_ = std::max(renewed_, sent);
  for (auto& [name, attempt] : attempts_) {
    if (attempt->spec.self_fence_after <= 0 || attempt->fenced) continue;
    attempt->lease_end = LeaseEnd(attempt->spec);
    SendLeases(*attempt);
  }
}

absl::Time AgentCore::LeaseEnd(const link::AttemptSpec& spec) const {
  return spec.self_fence_after > 0
             ? renewed_ + absl::Seconds(spec.self_fence_after)
             : absl::InfiniteFuture();
}

void AgentCore::SendLeases(Attempt& attempt) {
  if (attempt.lease_end == absl::InfiniteFuture()) return;
  for (const Attempt::Rank& rank : attempt.ranks) {
    if (rank.status.phase != RankStatus::Phase::kRunning) continue;
    runner_.Send(rank.dir,
                 {.name = std::string(link::kLease),
                  .deadline_ns = absl::ToUnixNanos(attempt.lease_end)});
  }
}

void AgentCore::Refuse(const std::string& name) {
  const auto it = attempts_.find(name);
  if (it == attempts_.end() || it->second->refused) return;
  spdlog::info("attempt {}: the coordinator refuses it, ending it", name);
  it->second->refused = true;
}

void AgentCore::SpoolBroken(const std::string& name, const std::string& problem,
                            bool lines) {
  const auto it = attempts_.find(name);
  if (it == attempts_.end()) return;
  Attempt& attempt = *it->second;
  const std::string told = absl::StrCat(Where(attempt), ": ", problem);
  attempt.problems.push_back(told);
  if (!lines || attempt.phase == Attempt::Phase::kEnded ||
      attempt.reason != AttemptReason::kUnspecified) {
    return;
  }
  attempt.reason = AttemptReason::kRankLost;
  attempt.message = told;
}

void AgentCore::StopAll() { stopping_all_ = true; }

absl::Time AgentCore::Step(absl::Time now) {
  if (now >= next_look_) {
    LookForObstacle();
    next_look_ = now + kObstacleInterval;
  }
  if (desired_known_) {
    for (auto& [name, attempt] : attempts_) attempt->wanted = false;
    for (const DesiredAttempt& desired : desired_.attempts) {
      const auto it = attempts_.find(desired.name);
      if (it == attempts_.end()) {
        // An old wish that was late: it comes again with the next renewal.
        if (desired.run && now >= LeaseEnd(desired.spec)) continue;
        TakeOn(desired);
        continue;
      }
      Attempt& attempt = *it->second;
      attempt.wanted = desired.run;
      attempt.may_start = attempt.may_start || desired.start;
      if (!desired.run) attempt.stop_reason = desired.stop_reason;
      if (attempt.spec.rendezvous.empty()) {
        attempt.spec.rendezvous = desired.spec.rendezvous;
      }
    }
  }
  absl::Time next = now + kLongestStep;
  for (auto& [name, attempt] : attempts_) {
    Advance(*attempt, now);
    if (attempt->phase != Attempt::Phase::kEnded) {
      next = std::min({next, attempt->lease_end, attempt->start_deadline});
    }
  }
  RemoveForgotten();
  // Never in the past, else the caller would spin.
  return std::max(next, now + absl::Milliseconds(1));
}

void AgentCore::Advance(Attempt& attempt, absl::Time now) {
  using Phase = Attempt::Phase;
  const bool unwanted = !attempt.wanted || attempt.refused || stopping_all_;
  if (attempt.phase == Phase::kFetching || attempt.phase == Phase::kMeeting) {
    if (unwanted) {
      EndUnstarted(attempt,
                   attempt.stop_reason != AttemptReason::kUnspecified
                       ? attempt.stop_reason
                       : AttemptReason::kWorkerLost,
                   "");
    } else if (now >= attempt.lease_end) {
      EndUnstarted(attempt, AttemptReason::kWorkerLost, kLeaseOver);
    } else if (attempt.phase == Phase::kMeeting && attempt.may_start &&
               (!attempt.needs_rendezvous() ||
                !attempt.spec.rendezvous.empty())) {
      StartRanks(attempt, now);
    }
  }
  if (attempt.phase == Phase::kStarting || attempt.phase == Phase::kRunning ||
      attempt.phase == Phase::kStopping) {
    Look(attempt, now);
    StopIfDue(attempt, now);
    FinishIfGone(attempt);
  }
}

std::vector<ObservedAttempt> AgentCore::Observed() const {
  std::vector<ObservedAttempt> list;
  for (const auto& [name, attempt] : attempts_) {
    list.push_back(
        attempt->Observe(spool_.IsDrained(name), spool_.Acknowledged(name)));
  }
  return list;
}

int AgentCore::num_active() const {
  int active = 0;
  for (const auto& [name, attempt] : attempts_) {
    if (attempt->phase != Attempt::Phase::kEnded) ++active;
  }
  return active;
}

bool AgentCore::IsIdle() const {
  return std::all_of(attempts_.begin(), attempts_.end(), [&](const auto& it) {
    const Attempt& attempt = *it.second;
    return attempt.phase == Attempt::Phase::kEnded &&
           (attempt.refused || spool_.IsDrained(attempt.name));
  });
}

std::string AgentCore::Where(const Attempt& attempt) const {
  return absl::StrCat("job ", attempt.spec.job, " attempt ",
                      attempt.spec.attempt, " on ", options_.hostname);
}

}  // namespace epochd::agent
