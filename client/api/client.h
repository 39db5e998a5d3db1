// SPDX-License-Identifier: Apache-2.0
//
// The client library: every call of the public API with a deadline, and the
// two streams that survive a broken connection. Statuses carry the server's
// details (wire::Violations, wire::Reason). Any thread; lives as long as the
// calls do. The channel retries UNAVAILABLE by its own policy.
//
//   auto channel = net::MakeChannel({.server = "127.0.0.1:7950"});
//   client::Client client(*channel);
//   auto job = client.SubmitJob(spec, client::NewRequestId());
//   client.WatchEvents(job->name(), {}, [](const v1::Event& event) {
//     return true;  // go on
//   });
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "epochd/v1/job.pb.h"
#include "epochd/v1/server.pb.h"
#include "epochd/v1/worker.pb.h"
#include "net/retry_policy.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace epochd::client {

// A random UUID. The same one again gets the first answer.
std::string NewRequestId();

struct JobFilter {
  std::vector<v1::JobState> states;
  std::string project;
  std::map<std::string, std::string> labels;
  // 0: all.
  int limit = 0;
};

struct StreamOptions {
  // Cancels the stream: it ends with CANCELLED.
  std::stop_token stop;
  net::RetryPolicy retry;
  // A server silent for so long is given up, with the last failure.
  absl::Duration give_up_after = absl::Minutes(5);
  // Told of each failure before the stream is opened anew.
  std::function<void(const absl::Status&)> on_retry;
};

struct WatchOptions {
  int64_t after = 0;
  bool without_progress = false;
  StreamOptions stream;
};

struct LogOptions {
  int rank = 0;
  // 0: all, in order.
  int attempt = 0;
  int64_t tail_bytes = 0;
  bool follow = false;
  // What was handed over before is not again: all up to this byte of this
  // attempt. `tail_bytes` may then be less than what came since.
  int after_attempt = 0;
  int64_t after_offset = 0;
  StreamOptions stream;
};

class Client {
 public:
  // `deadline`: of each call that asks for one answer.
  explicit Client(const std::shared_ptr<grpc::Channel>& channel,
                  absl::Duration deadline = absl::Seconds(15));
  ~Client();
  Client(Client&&) noexcept;

  absl::StatusOr<v1::Job> SubmitJob(const v1::JobSpec& spec,
                                    const std::string& request_id,
                                    bool validate_only = false);
  absl::StatusOr<v1::ValidateJobResponse> ValidateJob(const v1::JobSpec& spec);
  absl::StatusOr<v1::Job> GetJob(const std::string& name);
  // Newest first, page by page.
  absl::StatusOr<std::vector<v1::Job>> ListJobs(const JobFilter& filter);
  absl::StatusOr<v1::Job> CancelJob(const std::string& name,
                                    const std::string& request_id);
  absl::Status DeleteJob(const std::string& name,
                         const std::string& request_id);
  absl::StatusOr<std::vector<v1::Event>> ListEvents(const std::string& name,
                                                    int64_t after = 0);
  absl::StatusOr<std::vector<v1::Checkpoint>> ListCheckpoints(
      const std::string& name, bool show_removed = false);
  // Sends `content`, which must hash to `sha256`.
  absl::Status UploadFile(const std::string& sha256,
                          const std::string& content);

  absl::StatusOr<std::vector<v1::Worker>> ListWorkers();
  absl::StatusOr<v1::Worker> GetWorker(const std::string& name);
  absl::StatusOr<v1::Worker> DrainWorker(const std::string& name, bool undo);

  absl::StatusOr<v1::ServerInfo> GetServerInfo();
  absl::StatusOr<v1::Catalogue> GetCatalogue();

  // Hands over each event with a sequence once and in order, without a gap,
  // across broken connections; progress events as they come. OK after the
  // event that makes the job terminal; CANCELLED when `on_event` said false or
  // `stop` asked.
  absl::Status WatchEvents(
      const std::string& name, const WatchOptions& options,
      const std::function<bool(const v1::Event&)>& on_event);

  // Hands over the log's bytes once and in order across broken connections.
  // The state that the job ended in, or had when there was no more to read.
  absl::StatusOr<v1::JobState> ReadLogs(
      const std::string& name, const LogOptions& options,
      const std::function<bool(const v1::LogChunk&)>& on_chunk);

 private:
  // Keeps gRPC out of this header.
  struct Stubs;

  absl::Duration deadline_;
  std::unique_ptr<Stubs> stubs_;
};

// Tells whether a job in this state stays in it.
bool IsTerminal(v1::JobState state);

}  // namespace epochd::client
