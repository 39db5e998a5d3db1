// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/agent_core.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/agent/conclusion.h"
#include "worker/agent/last_words.h"
#include "worker/agent/rendezvous.h"
#include "worker/agent/work_folder.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/command.h"

namespace epochd::agent {
namespace {

namespace fs = std::filesystem;
using process::RankStatus;

constexpr absl::Duration kLongestStep = absl::Seconds(1);
// After this long a keeper that an earlier agent asked for has shown up.
constexpr absl::Duration kAdoptPatience = absl::Seconds(5);
// Between looks at a keeper that is just coming up.
constexpr absl::Duration kComingUp = absl::Seconds(1);
constexpr char kLeaseOver[] =
    "no word from the coordinator until its lease was over";

std::string AttemptName(const link::AttemptSpec& spec) {
  return absl::StrCat("jobs/", spec.job, "/attempts/", spec.attempt);
}

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

void AgentCore::Adopt(absl::Time now) {
  const std::string root = options_.work_dir + "/attempts";
  const std::string discarded = options_.work_dir + "/discarded";
  std::error_code error;
  fs::create_directories(root, error);
  // What an earlier agent did not come to delete. Numbers go on after it.
  fs::create_directories(discarded, error);
  for (const fs::directory_entry& entry :
       fs::directory_iterator(discarded, error)) {
    num_discarded_ = std::max<int64_t>(num_discarded_,
                                       atoll(entry.path().filename().c_str()));
    options_.remove_folder(entry.path().string());
  }
  std::vector<std::string> dirs;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    if (entry.path().filename() == kFolderId) continue;
    dirs.push_back(entry.path().string());
  }
  for (const std::string& dir : dirs) {
    if (!AdoptOne(dir, now)) {
      spdlog::warn("attempt folder '{}': never began, removed", dir);
      Discard(dir);
    }
  }
}

bool AgentCore::AdoptOne(const std::string& dir, absl::Time now) {
  const auto text = link::ReadFile(link::SpecPath(dir));
  if (!text) return false;
  auto attempt = std::make_unique<Attempt>();
  try {
    attempt->spec = link::FromJson(*text);
  } catch (const std::exception& error) {
    spdlog::warn("attempt folder '{}': {}", dir, error.what());
    return false;
  }
  attempt->name = AttemptName(attempt->spec);
  attempt->dir = dir;
  attempt->adopted = true;
  attempt->phase = Attempt::Phase::kStarting;
  attempt->start_deadline = now + kAdoptPatience;
  if (attempt->spec.self_fence_after > 0) {
    attempt->lease_end = now + absl::Seconds(attempt->spec.self_fence_after);
  }
  attempt->MakeRanks();
  for (Attempt::Rank& rank : attempt->ranks) rank.asked = true;
  spdlog::info("attempt {}: taken over", attempt->name);
  Look(*attempt, now);
  attempts_[attempt->name] = std::move(attempt);
  return true;
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

void AgentCore::FetchDone(const std::string& name, const absl::Status& status) {
  const auto it = attempts_.find(name);
  if (it == attempts_.end()) return;
  Attempt& attempt = *it->second;
  if (attempt.phase != Attempt::Phase::kFetching) return;
  if (!status.ok()) {
    EndUnstarted(attempt, AttemptReason::kStartFailed,
                 std::string(status.message()));
    return;
  }
  attempt.phase = Attempt::Phase::kMeeting;
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

void AgentCore::Look(Attempt& attempt, absl::Time now) {
  bool all_seen = true;
  for (Attempt::Rank& rank : attempt.ranks) {
    LookAt(attempt, rank);
    all_seen = all_seen && !rank.is(RankStatus::Phase::kAbsent);
  }
  if (all_seen) {
    attempt.start_deadline = absl::InfiniteFuture();
    if (attempt.phase == Attempt::Phase::kStarting) {
      attempt.phase = Attempt::Phase::kRunning;
      attempt.WatchForHang();
    }
    return;
  }
  if (now < attempt.start_deadline) return;
  attempt.start_deadline = now + kComingUp;
  GiveUpAbsent(attempt);
}

void AgentCore::LookAt(Attempt& attempt, Attempt::Rank& rank) {
  if (rank.is(RankStatus::Phase::kEnded)) return;
  const bool was_absent = rank.is(RankStatus::Phase::kAbsent);
  rank.status = runner_.Observe(rank.dir);
  if (rank.is(RankStatus::Phase::kAbsent)) return;
  if (!rank.spooled) {
    rank.spooled = true;
    spool_.Add(attempt.name, rank.rank, rank.dir);
  }
  // It may show up after the others were told.
  if (was_absent && attempt.fenced) {
    runner_.Kill(rank.dir);
  } else if (was_absent && attempt.stop_sent) {
    runner_.Stop(rank.dir);
  }
  if (rank.is(RankStatus::Phase::kEnded)) {
    spool_.SetEnded(attempt.name, rank.rank);
    runner_.Forget(rank.dir);
  }
}

void AgentCore::GiveUpAbsent(Attempt& attempt) {
  for (Attempt::Rank& rank : attempt.ranks) {
    if (!rank.is(RankStatus::Phase::kAbsent)) continue;
    // One that is just coming up is seen, and told, with a later look.
    if (!runner_.GiveUp(rank.dir)) continue;
    if (attempt.reason == AttemptReason::kUnspecified && !attempt.stop_sent) {
      attempt.reason = attempt.adopted ? AttemptReason::kRankLost
                                       : AttemptReason::kStartFailed;
      attempt.message = absl::StrCat(
          Where(attempt), " rank ", rank.rank,
          attempt.adopted ? ": the agent ended before it was started"
                          : ": did not come up in time");
    }
    LookAt(attempt, rank);
    rank.asked = false;
  }
}

void AgentCore::StopIfDue(Attempt& attempt, absl::Time now) {
  if (now >= attempt.lease_end && !attempt.fenced) {
    spdlog::warn("attempt {}: its lease is over, ending it at once",
                 attempt.name);
    attempt.fenced = true;
    attempt.lease_end = absl::InfiniteFuture();
    attempt.phase = Attempt::Phase::kStopping;
    for (const Attempt::Rank& rank : attempt.ranks) runner_.Kill(rank.dir);
  }
  if (attempt.reason == AttemptReason::kUnspecified) {
    const Conclusion cause = FindCause(attempt.Ends());
    if (cause.rank >= 0) {
      attempt.reason = cause.reason;
      attempt.message = Blame(attempt, cause.rank, cause.how);
    }
  }
  StopIfHanging(attempt, now);
  const bool unwanted = !attempt.wanted || attempt.refused || stopping_all_;
  if (attempt.stop_sent ||
      (!unwanted && attempt.reason == AttemptReason::kUnspecified)) {
    return;
  }
  // Another worker's agent noticed; the ranks here hang as well.
  if (!attempt.wanted && attempt.stop_reason == AttemptReason::kHang) {
    DumpStacks(attempt);
  }
  attempt.stop_sent = true;
  attempt.phase = Attempt::Phase::kStopping;
  for (const Attempt::Rank& rank : attempt.ranks) {
    if (rank.is(RankStatus::Phase::kRunning)) runner_.Stop(rank.dir);
  }
  GiveUpAbsent(attempt);
}

void AgentCore::StopIfHanging(Attempt& attempt, absl::Time now) {
  if (attempt.phase != Attempt::Phase::kRunning || attempt.stop_sent ||
      attempt.reason != AttemptReason::kUnspecified ||
      !attempt.hang.Look(now)) {
    return;
  }
  attempt.reason = AttemptReason::kHang;
  attempt.message = absl::StrCat(
      Where(attempt), " rank 0: hangs, it gave no sign of life for ",
      absl::FormatDuration(attempt.hang.after()), " (limits.hang_after)",
      attempt.is_command() ? "" : "; stacks of its ranks are in their logs");
  spdlog::warn("attempt {}: hangs, ending it", attempt.name);
  DumpStacks(attempt);
}

void AgentCore::DumpStacks(const Attempt& attempt) {
  // A rank reads this before the SIGTERM that follows.
  for (const Attempt::Rank& rank : attempt.ranks) {
    if (attempt.is_command() || !rank.is(RankStatus::Phase::kRunning)) continue;
    runner_.Send(rank.dir, {.name = std::string(link::kStacks)});
  }
}

void AgentCore::FinishIfGone(Attempt& attempt) {
  for (const Attempt::Rank& rank : attempt.ranks) {
    if (rank.status.phase == RankStatus::Phase::kRunning) return;
    if (rank.status.phase == RankStatus::Phase::kAbsent && rank.asked) return;
  }
  attempt.phase = Attempt::Phase::kEnded;
  const Conclusion conclusion = Conclude(attempt.Ends());
  // A start that failed is not told by exit codes; a better cause may have
  // shown up since the first one was seen.
  if (attempt.reason == AttemptReason::kUnspecified || conclusion.rank >= 0 ||
      attempt.fenced) {
    attempt.reason = conclusion.reason;
    attempt.message =
        conclusion.rank >= 0 ? Blame(attempt, conclusion.rank, conclusion.how)
        : attempt.fenced     ? absl::StrCat(Where(attempt), ": ", kLeaseOver)
                             : "";
  }
  spdlog::info("attempt {}: ended{}{}", attempt.name,
               attempt.message.empty() ? "" : ": ", attempt.message);
}

void AgentCore::EndUnstarted(Attempt& attempt, AttemptReason reason,
                             const std::string& problem) {
  attempt.CloseRendezvous();
  attempt.phase = Attempt::Phase::kEnded;
  attempt.reason = reason;
  if (!problem.empty()) {
    attempt.message = absl::StrCat(Where(attempt), ": ", problem);
    spdlog::warn("attempt {}: not started: {}", attempt.name, problem);
  }
}

void AgentCore::RemoveForgotten() {
  if (!desired_known_) return;
  std::set<std::string> listed;
  for (const DesiredAttempt& desired : desired_.attempts) {
    listed.insert(desired.name);
  }
  std::erase_if(attempts_, [&](const auto& entry) {
    const Attempt& attempt = *entry.second;
    if (attempt.phase != Attempt::Phase::kEnded ||
        listed.count(attempt.name) > 0 ||
        !(attempt.refused || spool_.IsDrained(attempt.name))) {
      return false;
    }
    spool_.Remove(attempt.name);
    Discard(attempt.dir);
    return true;
  });
}

void AgentCore::Discard(const std::string& dir) {
  std::error_code error;
  if (!fs::exists(dir, error)) return;
  // Gone at once for us and for a later agent, however long deleting takes.
  const std::string target =
      absl::StrCat(options_.work_dir, "/discarded/", ++num_discarded_, "-",
                   fs::path(dir).filename().string());
  fs::rename(dir, target, error);
  if (error) {
    spdlog::warn("attempt folder '{}': cannot be removed: {}", dir,
                 error.message());
    return;
  }
  options_.remove_folder(target);
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

std::string AgentCore::Blame(const Attempt& attempt, int rank,
                             const std::string& how) const {
  const std::string words = LastWords(link::RankDir(attempt.dir, rank));
  return absl::StrCat("job ", attempt.spec.job, " attempt ",
                      attempt.spec.attempt, " rank ", rank, " on ",
                      options_.hostname, ": ", how, words.empty() ? "" : ": ",
                      words);
}

}  // namespace epochd::agent
