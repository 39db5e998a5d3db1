// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "client/api/client.h"
#include "client/api/reconnect.h"
#include "client/api/stubs.h"
#include "proto/wire/status.h"

namespace epochd::client {
namespace {

// Where the next byte is expected.
struct Place {
  int attempt = 0;
  int64_t offset = 0;
};

// Takes off what was handed over before; nothing left: nullopt.
std::optional<v1::LogChunk> Unseen(v1::LogChunk chunk, const Place& place) {
  if (chunk.attempt() != place.attempt) {
    if (chunk.attempt() < place.attempt) return std::nullopt;
    return chunk;
  }
  const int64_t seen = place.offset - chunk.offset();
  if (seen <= 0) return chunk;
  if (seen >= static_cast<int64_t>(chunk.data().size())) {
    if (!chunk.truncated()) return std::nullopt;
    chunk.clear_data();
  } else {
    chunk.set_data(chunk.data().substr(static_cast<size_t>(seen)));
  }
  chunk.set_offset(place.offset);
  return chunk;
}

// Tells whether something is missing before the chunk.
bool IsBeyond(const v1::LogChunk& chunk, const Place& place) {
  return chunk.attempt() > place.attempt ||
         (chunk.attempt() == place.attempt && chunk.offset() > place.offset);
}

}  // namespace

absl::StatusOr<v1::JobState> Client::ReadLogs(
    const std::string& name, const LogOptions& options,
    const std::function<bool(const v1::LogChunk&)>& on_chunk) {
  v1::ReadLogsRequest request;
  request.set_name(name);
  request.set_rank(options.rank);
  request.set_attempt(options.attempt);
  request.set_tail_bytes(options.tail_bytes);
  request.set_follow(options.follow);
  Place place = {options.after_attempt, options.after_offset};
  if (place.attempt > 0 && options.attempt > 0) {
    request.set_tail_bytes(0);
    request.set_offset(place.offset);
  }
  Reconnect reconnect(options.stream);
  while (true) {
    grpc::ClientContext context;
    const std::stop_callback cancel(options.stream.stop,
                                    [&context] { context.TryCancel(); });
    const auto reader = stubs_->jobs->ReadLogs(&context, request);
    std::optional<v1::JobState> final_state;
    bool got_something = false;
    bool is_unwanted = false;
    // A tail may begin behind what came before.
    bool may_miss = place.attempt > 0 && request.tail_bytes() > 0;
    bool misses = false;
    v1::LogChunk chunk;
    while (reader->Read(&chunk)) {
      misses = may_miss && IsBeyond(chunk, place);
      if (misses) {
        context.TryCancel();
        break;
      }
      may_miss = false;
      if (chunk.end()) final_state = chunk.final_state();
      const bool is_empty = chunk.data().empty() && !chunk.truncated();
      if (is_empty) continue;
      const std::optional<v1::LogChunk> unseen = Unseen(chunk, place);
      if (!unseen) continue;
      got_something = true;
      place.attempt = unseen->attempt();
      place.offset =
          unseen->offset() + static_cast<int64_t>(unseen->data().size());
      if (!on_chunk(*unseen)) {
        is_unwanted = true;
        context.TryCancel();
        break;
      }
    }
    const absl::Status status = wire::FromGrpc(reader->Finish());
    if (is_unwanted || options.stream.stop.stop_requested()) {
      return absl::CancelledError("stopped");
    }
    if (misses) {
      request.set_tail_bytes(0);
      continue;
    }
    if (status.ok() && final_state) return *final_state;
    if (got_something) reconnect.Succeeded();
    const absl::Status next = reconnect.Failed(
        status.ok() ? absl::UnavailableError("the log of " + name +
                                             " ended without saying why")
                    : status);
    if (!next.ok()) return next;
    // Begins where it broke off. All attempts can only be asked for from the
    // first on; what was seen of them is dropped.
    if (place.attempt > 0) {
      request.set_tail_bytes(0);
      if (options.attempt > 0) request.set_offset(place.offset);
    }
  }
}

}  // namespace epochd::client
