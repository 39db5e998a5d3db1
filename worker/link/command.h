// SPDX-License-Identifier: Apache-2.0
//
// Commands from agent to rank: JSON datagrams to control.sock in the rank's
// folder, one object each. Lost ones do no harm: each states what holds now
// and is sent again.
//
//   {"command": "lease", "deadline_ns": N}     end yourself at this value of
//                                              CLOCK_MONOTONIC unless renewed
//   {"command": "recorded", "offset": N}       lines before this byte offset
//                                              of events.jsonl are recorded
//                                              by the coordinator
//   {"command": "stacks"}                      write stacks to the log
// Stop is SIGTERM: save a checkpoint, say training_ended, exit 75.
#pragma once

#include <string_view>

namespace epochd::link {

inline constexpr std::string_view kLease = "lease";
inline constexpr std::string_view kRecorded = "recorded";
inline constexpr std::string_view kStacks = "stacks";

}  // namespace epochd::link
