// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/log_tail.h"

#include "absl/status/status.h"

namespace epochd::epochctl {

std::optional<size_t> StartOfLastLines(std::string_view text, int num_lines) {
  if (num_lines == 0) return text.size();
  size_t end = text.size();
  if (text.ends_with('\n')) --end;
  for (int i = 0; i < num_lines; ++i) {
    if (end == 0) return std::nullopt;
    end = text.rfind('\n', end - 1);
    if (end == std::string_view::npos) return std::nullopt;
  }
  return end + 1;
}

absl::StatusOr<v1::JobState> ReadLastLines(
    client::Client& client, const std::string& name,
    const client::LogOptions& options, int num_lines,
    const std::function<bool(const v1::LogChunk&)>& on_chunk) {
  client::LogOptions once = options;
  once.follow = false;
  v1::LogChunk tail;
  std::optional<size_t> start;
  absl::StatusOr<v1::JobState> state;
  for (once.tail_bytes = 64 << 10;; once.tail_bytes *= 8) {
    tail.Clear();
    state = client.ReadLogs(name, once, [&tail](const v1::LogChunk& chunk) {
      if (chunk.attempt() == tail.attempt()) {
        tail.mutable_data()->append(chunk.data());
        tail.set_truncated(chunk.truncated());
      } else {
        tail = chunk;
      }
      return true;
    });
    if (!state.ok()) return state;
    start = StartOfLastLines(tail.data(), num_lines);
    if (start || tail.offset() == 0) break;
  }
  const bool goes_on = options.follow && !client::IsTerminal(*state);
  client::LogOptions rest = options;
  if (tail.attempt() > 0) {
    rest.tail_bytes = once.tail_bytes;
    rest.after_attempt = tail.attempt();
    rest.after_offset =
        tail.offset() + static_cast<int64_t>(tail.data().size());
    tail.mutable_data()->erase(0, start.value_or(0));
    // Is told again by what follows.
    if (goes_on) tail.clear_truncated();
    if (!on_chunk(tail)) return absl::CancelledError("stopped");
  }
  return goes_on ? client.ReadLogs(name, rest, on_chunk) : state;
}

}  // namespace epochd::epochctl
