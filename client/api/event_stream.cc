// SPDX-License-Identifier: Apache-2.0
#include <stop_token>
#include <string>

#include "client/api/client.h"
#include "client/api/reconnect.h"
#include "client/api/stubs.h"
#include "proto/wire/status.h"

namespace epochd::client {
namespace {

// What one connection of the stream came to.
struct Round {
  absl::Status status;
  bool got_something = false;
  bool is_terminal = false;
};

// Hands over what follows `last` from one connection, moving `last` on.
Round ReadRound(v1::JobService::StubInterface& stub,
                const v1::WatchEventsRequest& request,
                const std::stop_token& stop,
                const std::function<bool(const v1::Event&)>& on_event,
                int64_t& last) {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const auto reader = stub.WatchEvents(&context, request);
  Round round;
  v1::Event event;
  absl::Status broken;
  while (broken.ok() && reader->Read(&event)) {
    round.got_something = true;
    if (event.sequence() != 0) {
      if (event.sequence() <= last) continue;
      if (event.sequence() != last + 1) {
        broken = absl::DataLossError("events of " + request.name() +
                                     ": expected sequence " +
                                     std::to_string(last + 1) + ", got " +
                                     std::to_string(event.sequence()));
        break;
      }
      last = event.sequence();
    }
    if (!on_event(event)) broken = absl::CancelledError("stopped");
    if (event.has_job_state() && IsTerminal(event.job_state().state())) {
      round.is_terminal = true;
    }
  }
  if (!broken.ok()) context.TryCancel();
  const absl::Status finished = wire::FromGrpc(reader->Finish());
  round.status = broken.ok() ? finished : broken;
  return round;
}

}  // namespace

absl::Status Client::WatchEvents(
    const std::string& name, const WatchOptions& options,
    const std::function<bool(const v1::Event&)>& on_event) {
  v1::WatchEventsRequest request;
  request.set_name(name);
  request.set_without_progress(options.without_progress);
  int64_t last = options.after;
  Reconnect reconnect(options.stream);
  while (true) {
    request.set_after(last);
    const int64_t before = last;
    const Round round =
        ReadRound(*stubs_->jobs, request, options.stream.stop, on_event, last);
    if (options.stream.stop.stop_requested() ||
        absl::IsCancelled(round.status)) {
      return absl::CancelledError("stopped");
    }
    if (round.is_terminal) return absl::OkStatus();
    absl::Status failure = round.status;
    if (failure.ok()) {
      // Asked to replay from after its last event, a finished job has nothing
      // to send.
      const absl::StatusOr<v1::Job> job = GetJob(name);
      if (job.ok() && IsTerminal(job->state()) &&
          job->last_sequence() <= last) {
        return absl::OkStatus();
      }
      failure = job.ok() ? absl::UnavailableError("the stream of " + name +
                                                  " ended before the job")
                         : job.status();
    }
    // A gap that stays is told of; it counts as progress only if it moved.
    if (round.got_something && (last > before || round.status.ok())) {
      reconnect.Succeeded();
    }
    if (absl::Status status = reconnect.Failed(failure); !status.ok()) {
      return status;
    }
  }
}

}  // namespace epochd::client
