// SPDX-License-Identifier: Apache-2.0
//
// JobService.WatchEvents: a job's events from a sequence on, read by cursor,
// then live; progress in between, newest only. Ends after the last event of a
// finished job.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "epochd/v1/job.pb.h"
#include "server/api/backend.h"
#include "server/api/server_stream.h"

namespace epochd::api {

class WatchEvents final : public ServerStream<v1::Event> {
 public:
  WatchEvents(Backend& backend, const v1::WatchEventsRequest& request);

  void Begin() override;

 private:
  Step Produce(absl::Status& end_status) override;
  void Unsubscribe() override { subscription_.reset(); }

  control::Controller& controller_;
  const v1::WatchEventsRequest request_;
  job::JobId job_;
  std::unique_ptr<control::Subscription> subscription_;
  // Of the pool's one task at a time:
  int64_t cursor_;
  int64_t progress_number_ = 0;
  std::deque<std::shared_ptr<const job::Event>> events_;
};

}  // namespace epochd::api
