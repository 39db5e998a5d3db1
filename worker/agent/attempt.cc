// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/attempt.h"

#include <unistd.h>

#include <algorithm>

#include "worker/link/attempt_folder.h"

namespace epochd::agent {

using RankPhase = process::RankStatus::Phase;

void Attempt::MakeRanks() {
  for (const link::RankSpec& rank : spec.ranks) {
    ranks.push_back({.rank = rank.rank, .dir = link::RankDir(dir, rank.rank)});
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
}

void Attempt::CloseRendezvous() {
  if (rendezvous_fd >= 0) close(rendezvous_fd);
  rendezvous_fd = -1;
}

void Attempt::WatchForHang() {
  if (spec.hang_after <= 0 || !has_rank_zero()) return;
  const std::string& rank_dir = ranks.front().dir;
  std::vector<std::string> files = {link::EventsPath(rank_dir)};
  // A command may have no other way to show that it lives; a trainer's
  // libraries may print while it hangs.
  if (is_command()) files.push_back(link::LogPath(rank_dir));
  hang = HangWatch(std::move(files), absl::Seconds(spec.hang_after));
}

ConclusionInput Attempt::Ends() const {
  ConclusionInput input{
      .is_command = is_command(), .stop_reason = stop_reason, .fenced = fenced};
  for (const Rank& rank : ranks) {
    if (rank.is(RankPhase::kEnded)) {
      input.ended.push_back({.rank = rank.rank, .exit = rank.status.exit});
    }
  }
  return input;
}

ObservedAttempt Attempt::Observe(bool drained,
                                 int64_t acknowledged_bytes) const {
  ObservedAttempt observed{.name = name,
                           .reason = reason,
                           .message = message,
                           .ready = phase != Phase::kFetching,
                           .problems = problems,
                           .lost_peers = lost_peers};
  switch (phase) {
    case Phase::kFetching:
    case Phase::kMeeting:
    case Phase::kStarting:
      observed.state = AttemptState::kStarting;
      break;
    case Phase::kRunning:
      observed.state = AttemptState::kRunning;
      break;
    case Phase::kStopping:
      observed.state = AttemptState::kStopping;
      break;
    case Phase::kEnded:
      observed.state = AttemptState::kEnded;
      observed.drained = refused || drained;
      if (!observed.drained) observed.acknowledged_bytes = acknowledged_bytes;
      break;
  }
  if (has_rank_zero() && needs_rendezvous()) {
    observed.rendezvous = spec.rendezvous;
  }
  for (const Rank& rank : ranks) {
    ObservedRank seen{.rank = rank.rank,
                      .running = rank.is(RankPhase::kRunning)};
    if (rank.is(RankPhase::kEnded)) {
      seen.exit_code = rank.status.exit.exit_code;
      seen.term_signal = rank.status.exit.term_signal;
    }
    observed.ranks.push_back(seen);
  }
  return observed;
}

}  // namespace epochd::agent
