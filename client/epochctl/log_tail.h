// SPDX-License-Identifier: Apache-2.0
//
// The last lines of a log; the coordinator counts bytes alone. Stateless.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/api/client.h"

namespace epochd::epochctl {

// Where the last `num_lines` lines of `text` begin, the last with or without an
// end of line; nothing: no end of line stands before them.
std::optional<size_t> StartOfLastLines(std::string_view text, int num_lines);

// As Client::ReadLogs() with `options`, whose `tail_bytes` do not count, from
// the last `num_lines` lines on that are there, of all attempts those of the
// last one.
absl::StatusOr<v1::JobState> ReadLastLines(
    client::Client& client, const std::string& name,
    const client::LogOptions& options, int num_lines,
    const std::function<bool(const v1::LogChunk&)>& on_chunk);

}  // namespace epochd::epochctl
