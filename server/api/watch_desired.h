// SPDX-License-Identifier: Apache-2.0
//
// AgentService.WatchDesired: what a worker should run, now and at each change.
// A slow agent gets the newest state and not every one in between.
#pragma once

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "epochd/v1/agent.pb.h"
#include "server/api/backend.h"
#include "server/api/server_stream.h"

namespace epochd::api {

class WatchDesired final : public ServerStream<v1::DesiredState> {
 public:
  WatchDesired(Backend& backend, const v1::WatchDesiredRequest& request);

  void Begin() override;

 private:
  using Desired = absl::StatusOr<std::shared_ptr<const control::DesiredState>>;

  Step Produce(absl::Status& end_status) override;
  void Unsubscribe() override { subscription_.reset(); }
  void OnChanged(Desired desired);

  control::Controller& controller_;
  const v1::WatchDesiredRequest request_;
  std::unique_ptr<control::Subscription> subscription_;
  absl::Mutex newest_mutex_;
  // Null once it was written.
  std::shared_ptr<const control::DesiredState> newest_
      ABSL_GUARDED_BY(newest_mutex_);
};

}  // namespace epochd::api
