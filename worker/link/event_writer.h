// SPDX-License-Identifier: Apache-2.0
//
// Appends lines to events.jsonl. One per rank process; any thread may call it.
//
// A line is written by one write(2), so that a reader finds it whole or not at
// all, also when the process is killed at any moment. A full disk never stops
// the training: lines wait in memory, each later call tries again, and a
// notice tells how long that lasted. While they wait, only lines of type
// progress and metrics may be given up.
//
//   EventWriter events(link::EventsPath(rank_dir), rank);
//   int64_t end = events.Append({{"type", link::kEpochStarted}, {"epoch", 1}});
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace epochd::link {

class EventWriter {
 public:
  // write(2), passed in so that a full disk can be played.
  using WriteFunction =
      std::function<ssize_t(int fd, const void* data, size_t size)>;

  // Opens `path` for append and creates it when missing. A torn last line, of a
  // process that died in its write, is ended first. Throws std::system_error.
  EventWriter(const std::string& path, int rank);
  EventWriter(const std::string& path, int rank, WriteFunction write);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // Adds "time" and "rank" where they are missing, spells non-finite numbers
  // as strings, and appends. A line over kMaxLineBytes is replaced by a
  // warning notice that names its type. Returns the offset just after the
  // line: it is recorded once a `recorded` command has at least this offset.
  int64_t Append(nlohmann::ordered_json line);

  // Tries again to write what waits. True: nothing waits.
  bool Flush();

  // Bytes of the file, with those that wait.
  int64_t offset() const;

 private:
  int64_t AppendLocked(const nlohmann::ordered_json& line);
  bool FlushLocked();

  const int rank_;
  const WriteFunction write_;
  int fd_ = -1;
  mutable std::mutex mutex_;
  // Offset at which the first waiting byte will stand, guarded by mutex_ as
  // all below.
  int64_t written_ = 0;
  std::deque<std::string> waiting_;
  int64_t waiting_bytes_ = 0;
  int64_t num_dropped_ = 0;
  double stuck_since_ = 0;  // seconds since 1970; 0: all is well
};

// JSON has no number for these: "NaN", "Infinity", "-Infinity".
nlohmann::ordered_json Number(double value);

// A notice line; severity is "info", "warning" or "error".
nlohmann::ordered_json NoticeLine(std::string_view severity,
                                  std::string_view text);

}  // namespace epochd::link
