// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/spool_forwarder.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "program/logging.h"
#include "worker/agent/steady_clock.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/command.h"
#include "worker/link/command_socket.h"
#include "worker/link/spool_reader.h"

namespace epochd::agent {
namespace {

constexpr int64_t kEventBatch = 512 << 10;
constexpr int64_t kLogBatch = 256 << 10;
// Looks without being told this often, for file systems that tell nothing.
constexpr absl::Duration kLookInterval = absl::Milliseconds(250);
// Of a file that nothing is added to any more, one for each look.
constexpr int kReadTries = 20;

}  // namespace

// One rank's two streams. Offsets belong to the lane of their kind; what both
// share is atomic or under the lock.
struct SpoolForwarder::Rank {
  std::string attempt;
  int rank = 0;
  std::string dir;
  std::unique_ptr<link::SpoolReader> reader;
  int64_t events_offset = 0;
  int64_t log_offset = 0;
  int log_fd = -1;
  std::atomic<bool> ended{false};
  std::atomic<bool> removed{false};
  std::atomic<bool> events_drained{false};
  std::atomic<bool> log_drained{false};
  // Nothing more is taken: of the attempt, or of its log.
  std::atomic<bool> refused{false};
  // Of the lane of its kind alone.
  struct Stream {
    // It was told that something of it will never be handed in.
    bool broken = false;
    // In a row.
    int num_read_failures = 0;
  };
  Stream events;
  Stream log;
  Stream& stream(Kind kind) { return kind == Kind::kEvents ? events : log; }
  absl::Mutex acked_mutex;
  link::AckedRecord acked ABSL_GUARDED_BY(acked_mutex);

  ~Rank() {
    if (log_fd >= 0) close(log_fd);
  }
};

struct SpoolForwarder::Lane {
  explicit Lane(Kind lane_kind)
      : kind(lane_kind),
        inotify_fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
        event_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Lane() {
    close(inotify_fd);
    close(event_fd);
  }

  const Kind kind;
  const int inotify_fd;
  const int event_fd;
  std::thread thread;
  absl::BitGen random;
  std::map<std::string, int> watches;
  // Passes so far; each begins with another rank.
  size_t num_passes = 0;
  // Calls failed that often in a row; none is made before `next_try`.
  int num_failures = 0;
  absl::Time next_try = absl::InfinitePast();
  std::atomic<bool> retry_now{false};
};

SpoolForwarder::SpoolForwarder(Transport& transport, const WorkerInfo& worker,
                               Callbacks callbacks)
    : transport_(transport), worker_(worker), callbacks_(std::move(callbacks)) {
  for (const Kind kind : {Kind::kEvents, Kind::kLog}) {
    lanes_.push_back(std::make_unique<Lane>(kind));
    Lane& lane = *lanes_.back();
    lane.thread = std::thread([this, &lane] { Run(lane); });
    pthread_setname_np(lane.thread.native_handle(),
                       kind == Kind::kEvents ? "fwd-events" : "fwd-logs");
  }
}

SpoolForwarder::~SpoolForwarder() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (const auto& lane : lanes_) Wake(*lane);
  for (const auto& lane : lanes_) lane->thread.join();
}

void SpoolForwarder::Wake(Lane& lane) {
  const uint64_t one = 1;
  if (write(lane.event_fd, &one, sizeof one) < 0 && errno != EAGAIN) {
    spdlog::error("forwarder: eventfd: {}", errno);
  }
}

void SpoolForwarder::Retry() {
  for (const auto& lane : lanes_) {
    lane->retry_now = true;
    Wake(*lane);
  }
}

void SpoolForwarder::Add(const std::string& attempt, int rank,
                         const std::string& rank_dir) {
  auto added = std::make_shared<Rank>();
  added->attempt = attempt;
  added->rank = rank;
  added->dir = rank_dir;
  added->reader =
      std::make_unique<link::SpoolReader>(link::EventsPath(rank_dir));
  {
    const absl::MutexLock lock(&added->acked_mutex);
    added->acked = link::ReadAcked(rank_dir).value_or(link::AckedRecord{});
    added->events_offset = added->acked.events;
    added->log_offset = added->acked.log;
  }
  {
    const absl::MutexLock lock(&mutex_);
    ranks_.push_back(std::move(added));
  }
  for (const auto& lane : lanes_) Wake(*lane);
}

void SpoolForwarder::SetEnded(const std::string& attempt, int rank) {
  {
    const absl::MutexLock lock(&mutex_);
    for (const auto& known : ranks_) {
      if (known->attempt == attempt && known->rank == rank) {
        known->ended = true;
      }
    }
  }
  for (const auto& lane : lanes_) Wake(*lane);
}

bool SpoolForwarder::IsDrained(const std::string& attempt) {
  const absl::MutexLock lock(&mutex_);
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const auto& rank) {
    return rank->attempt != attempt ||
           (rank->events_drained && rank->log_drained);
  });
}

int64_t SpoolForwarder::Acknowledged(const std::string& attempt) {
  std::vector<std::shared_ptr<Rank>> ranks;
  {
    const absl::MutexLock lock(&mutex_);
    ranks = ranks_;
  }
  int64_t bytes = 0;
  for (const auto& rank : ranks) {
    if (rank->attempt != attempt) continue;
    const absl::MutexLock lock(&rank->acked_mutex);
    bytes += rank->acked.events + rank->acked.log;
  }
  return bytes;
}

void SpoolForwarder::Remove(const std::string& attempt) {
  const absl::MutexLock lock(&mutex_);
  std::erase_if(ranks_, [&](const auto& rank) {
    if (rank->attempt != attempt) return false;
    rank->removed = true;
    return true;
  });
}

void SpoolForwarder::Run(Lane& lane) {
  while (true) {
    std::vector<std::shared_ptr<Rank>> ranks;
    {
      const absl::MutexLock lock(&mutex_);
      if (stopping_) return;
      ranks = ranks_;
    }
    if (!ranks.empty()) {
      // A call that fails ends the pass: one rank whose calls always fail must
      // not keep the others waiting for ever.
      const size_t first = lane.num_passes++ % ranks.size();
      std::rotate(ranks.begin(),
                  ranks.begin() + static_cast<std::ptrdiff_t>(first),
                  ranks.end());
    }
    bool any_active = false;
    bool more = false;
    std::map<std::string, int> watches;
    for (const auto& rank : ranks) {
      const auto& drained =
          lane.kind == Kind::kEvents ? rank->events_drained : rank->log_drained;
      if (drained) continue;
      any_active = true;
      // Watches before it looks, so that nothing falls in between.
      const auto known = lane.watches.find(rank->dir);
      watches[rank->dir] =
          known != lane.watches.end()
              ? known->second
              : inotify_add_watch(lane.inotify_fd, rank->dir.c_str(),
                                  IN_MODIFY);
      more = Forward(lane, *rank) || more;
    }
    for (const auto& [dir, watch] : lane.watches) {
      if (watches.count(dir) == 0) inotify_rm_watch(lane.inotify_fd, watch);
    }
    lane.watches = std::move(watches);
    if (!more) Wait(lane, any_active);
  }
}

void SpoolForwarder::Wait(Lane& lane, bool any_active) {
  absl::Duration timeout = any_active ? kLookInterval : absl::Hours(1);
  const absl::Duration pause = lane.next_try - SteadyNow();
  if (pause > absl::ZeroDuration()) timeout = std::min(timeout, pause);
  pollfd waited[2] = {
      {.fd = lane.event_fd, .events = POLLIN, .revents = 0},
      // While calls fail there is no use in hearing of more to send.
      {.fd = pause > absl::ZeroDuration() ? -1 : lane.inotify_fd,
       .events = POLLIN,
       .revents = 0}};
  poll(waited, 2,
       static_cast<int>(absl::ToInt64Milliseconds(
           absl::Ceil(timeout, absl::Milliseconds(1)))));
  uint64_t count = 0;
  while (read(lane.event_fd, &count, sizeof count) > 0) {
  }
  alignas(inotify_event) char events[16384];
  while (read(lane.inotify_fd, events, sizeof events) > 0) {
  }
  if (lane.retry_now.exchange(false)) lane.next_try = absl::InfinitePast();
}

bool SpoolForwarder::Forward(Lane& lane, Rank& rank) {
  if (rank.refused) {
    SetDrained(rank, lane.kind);
    return false;
  }
  if (SteadyNow() < lane.next_try) return false;
  // Asked before reading: what was written until then is seen.
  const bool ended = rank.ended;
  try {
    const bool more = lane.kind == Kind::kEvents
                          ? ForwardEvents(lane, rank, ended)
                          : ForwardLog(lane, rank, ended);
    rank.stream(lane.kind).num_read_failures = 0;
    return more;
  } catch (const std::exception& error) {
    const int num_failures = ++rank.stream(lane.kind).num_read_failures;
    if (num_failures == 1) {
      spdlog::warn("attempt {} rank {}: spool: {}", rank.attempt, rank.rank,
                   error.what());
    }
    if (ended && num_failures >= kReadTries) {
      Break(rank, lane.kind, absl::StrCat("cannot be read: ", error.what()));
      SetDrained(rank, lane.kind);
    }
    return false;
  }
}

bool SpoolForwarder::ForwardEvents(Lane& lane, Rank& rank, bool ended) {
  link::SpoolChunk chunk = rank.reader->Read(rank.events_offset, kEventBatch);
  if (chunk.outcome == link::SpoolChunk::Outcome::kTruncated) {
    Break(rank, Kind::kEvents,
          absl::StrCat("was cut: it is shorter than the ", rank.events_offset,
                       " bytes that were handed in"));
  }
  if (chunk.outcome != link::SpoolChunk::Outcome::kLines) {
    if (ended) SetDrained(rank, lane.kind);
    return false;
  }
  const absl::StatusOr<int64_t> next = transport_.ReportEvents(
      worker_, rank.attempt, rank.rank, chunk.offset, std::move(chunk.lines));
  if (!next.ok()) return HandleFailure(lane, rank, next.status());
  lane.num_failures = 0;
  const bool moved = *next != rank.events_offset;
  rank.events_offset = *next;
  if (moved) Acknowledge(rank, Kind::kEvents, *next);
  return moved;
}

bool SpoolForwarder::ForwardLog(Lane& lane, Rank& rank, bool ended) {
  if (rank.log_fd < 0) {
    rank.log_fd = open(link::LogPath(rank.dir).c_str(), O_RDONLY | O_CLOEXEC);
    if (rank.log_fd < 0 && errno != ENOENT) {
      throw std::system_error(errno, std::generic_category(), "log");
    }
  }
  std::string data(kLogBatch, '\0');
  ssize_t n = 0;
  if (rank.log_fd >= 0) {
    n = pread(rank.log_fd, data.data(), data.size(), rank.log_offset);
  }
  if (n < 0) throw std::system_error(errno, std::generic_category(), "log");
  if (n == 0) {
    if (ended) SetDrained(rank, lane.kind);
    return false;
  }
  data.resize(static_cast<size_t>(n));
  const absl::StatusOr<LogAnswer> answer = transport_.ReportLogs(
      worker_, rank.attempt, rank.rank, rank.log_offset, std::move(data));
  if (!answer.ok()) return HandleFailure(lane, rank, answer.status());
  lane.num_failures = 0;
  const bool moved = answer->next_offset != rank.log_offset;
  rank.log_offset = answer->next_offset;
  if (moved) Acknowledge(rank, Kind::kLog, answer->next_offset);
  if (answer->full) SetDrained(rank, lane.kind);
  return moved && !answer->full;
}

bool SpoolForwarder::HandleFailure(Lane& lane, Rank& rank,
                                   const absl::Status& status) {
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    rank.refused = true;
    callbacks_.refused(rank.attempt);
    SetDrained(rank, lane.kind);
    return true;
  }
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    // Sending it again would not help, and the attempt must come to an end.
    Break(rank, lane.kind,
          absl::StrCat(
              "is not taken from byte ",
              lane.kind == Kind::kEvents ? rank.events_offset : rank.log_offset,
              " on: ", status.message()));
    SetDrained(rank, lane.kind);
    return false;
  }
  if (lane.num_failures++ == 0) {
    spdlog::warn("attempt {} rank {}: cannot report, keeping it: {}",
                 rank.attempt, rank.rank, std::string(status.message()));
  }
  lane.next_try =
      SteadyNow() + retry_.Delay(lane.num_failures, lane.random, status);
  if (status.code() == absl::StatusCode::kNotFound ||
      status.code() == absl::StatusCode::kAborted) {
    callbacks_.stale(status);
  }
  return false;
}

void SpoolForwarder::Acknowledge(Rank& rank, Kind kind, int64_t offset) {
  if (kind == Kind::kEvents) {
    link::CommandSocket::Send(
        link::ControlPath(rank.dir),
        {.name = std::string(link::kRecorded), .offset = offset});
  }
  const absl::MutexLock lock(&rank.acked_mutex);
  (kind == Kind::kEvents ? rank.acked.events : rank.acked.log) = offset;
  if (rank.removed) return;
  try {
    // A lost record costs sending lines again, which are then skipped.
    link::WriteAcked(rank.dir, rank.acked);
  } catch (const std::exception& error) {
    spdlog::debug("acked.json: {}", error.what());
  }
}

void SpoolForwarder::Break(Rank& rank, Kind kind, const std::string& problem) {
  const bool lines = kind == Kind::kEvents;
  if (std::exchange(rank.stream(kind).broken, true)) return;
  const std::string text = program::EscapeControls(absl::StrCat(
      "rank ", rank.rank, ": ", lines ? "events.jsonl" : "log", " ", problem));
  spdlog::error("attempt {}: {}", rank.attempt, text);
  callbacks_.broken(rank.attempt, text, lines);
}

void SpoolForwarder::SetDrained(Rank& rank, Kind kind) {
  (kind == Kind::kEvents ? rank.events_drained : rank.log_drained) = true;
  callbacks_.drained();
}

}  // namespace epochd::agent
