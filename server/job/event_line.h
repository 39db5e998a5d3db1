// SPDX-License-Identifier: Apache-2.0
//
// Reads what a rank wrote: one JSON object of events.jsonl
// (worker/link/event_line.h) becomes an event's body. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/job/event.h"

namespace epochd::job {

// checkpoint_removed names a path; the record is the job's.
struct CheckpointRemovedLine {
  std::string path;
};

// A line that tells nothing to keep: of an unknown type, or only of the
// process.
struct IgnoredLine {};

struct ParsedLine {
  // When the rank wrote it, by its own clock; empty: not said.
  std::optional<absl::Time> time;
  int32_t rank = 0;
  // A saved checkpoint's attempt and create_time are the caller's to set.
  std::variant<IgnoredLine, TrainingBegan, FirstStep, EpochStarted,
               EpochFinished, MetricsLogged, CheckpointSaved,
               CheckpointRemovedLine, TrainingEnded, Notice, Progress>
      body;
};

// `line` may end with a newline. InvalidArgument names the key that is wrong.
// Never throws and never needs more than the line's size in memory.
absl::StatusOr<ParsedLine> ParseEventLine(std::string_view line);

}  // namespace epochd::job
