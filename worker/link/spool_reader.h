// SPDX-License-Identifier: Apache-2.0
//
// Reads events.jsonl while it is written: whole lines only, from any offset.
// Keeps no state but the open file; one thread.
#pragma once

#include <cstdint>
#include <string>

namespace epochd::link {

struct SpoolChunk {
  enum class Outcome {
    kLines,      // `lines` holds at least one
    kNothing,    // no whole line stands there yet
    kTruncated,  // the file ends before the offset: bytes were taken away
    kMissing,    // there is no such file (yet)
  };
  Outcome outcome = Outcome::kNothing;
  int64_t offset = 0;
  std::string lines;
  // `lines` stands in for that many bytes of a line too long to forward: it has
  // their length, so that offsets stay those of the file.
  bool replaced = false;
  int64_t next_offset() const {
    return offset + static_cast<int64_t>(lines.size());
  }
};

class SpoolReader {
 public:
  // Longest line that is forwarded; writers stay far below (kMaxLineBytes).
  static constexpr int64_t kMaxForwardedLine = 1 << 20;

  explicit SpoolReader(std::string path);
  ~SpoolReader();
  SpoolReader(const SpoolReader&) = delete;
  SpoolReader& operator=(const SpoolReader&) = delete;

  // Whole lines from `offset` on, at most `max_bytes` of them (one line at
  // least). Throws std::system_error when the file cannot be read.
  SpoolChunk Read(int64_t offset, int64_t max_bytes);

 private:
  const std::string path_;
  int fd_ = -1;
};

// Text of the last error told in a rank's events.jsonl (an error notice or a
// failed training_ended) within its last 64 KiB; empty: none.
std::string LastError(const std::string& events_path);

}  // namespace epochd::link
