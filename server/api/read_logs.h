// SPDX-License-Identifier: Apache-2.0
//
// JobService.ReadLogs: what a rank wrote, attempt after attempt; with `follow`
// until the job is finished. The last message of a stream that was not cut off
// has `end` set.
#pragma once

#include <cstdint>
#include <memory>

#include "epochd/v1/job.pb.h"
#include "server/api/backend.h"
#include "server/api/server_stream.h"

namespace epochd::api {

class ReadLogs final : public ServerStream<v1::LogChunk> {
 public:
  ReadLogs(Backend& backend, const v1::ReadLogsRequest& request);

  void Begin() override;

 private:
  Step Produce(absl::Status& end_status) override;
  void Unsubscribe() override;

  // Sets where to begin, once.
  absl::Status FindStart();
  // Fills message() with more bytes, going on to the next attempt where one
  // ended; false: there are none now.
  absl::StatusOr<bool> ReadMore();
  // Whether nothing will ever be added to what is read.
  bool IsComplete(const job::Job& job) const;

  control::Controller& controller_;
  events::LogStore& logs_;
  const v1::ReadLogsRequest request_;
  job::JobId job_;
  std::unique_ptr<control::Subscription> state_changes_;
  events::Subscription log_growth_;
  // Of the pool's one task at a time:
  bool started_ = false;
  bool told_end_ = false;
  bool told_truncated_ = false;
  int32_t attempt_ = 0;
  int64_t offset_ = 0;
};

}  // namespace epochd::api
