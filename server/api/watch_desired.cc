// SPDX-License-Identifier: Apache-2.0
#include "server/api/watch_desired.h"

#include <utility>

#include "server/api/convert_worker.h"
#include "server/api/names.h"

namespace epochd::api {

WatchDesired::WatchDesired(Backend& backend,
                           const v1::WatchDesiredRequest& request)
    : ServerStream(backend.pool, backend.streams),
      controller_(backend.controller),
      request_(request) {}

void WatchDesired::Begin() {
  const auto worker = ParseWorker(request_.worker());
  if (!worker.ok()) return EndWith(worker.status());
  const auto incarnation = ParseIncarnation(request_.incarnation());
  if (!incarnation.ok()) return EndWith(incarnation.status());
  auto subscription = controller_.WatchDesired(
      *worker, *incarnation,
      [this](Desired desired) { OnChanged(std::move(desired)); });
  if (!subscription.ok()) return EndWith(subscription.status());
  subscription_ = *std::move(subscription);
}

void WatchDesired::OnChanged(Desired desired) {
  if (!desired.ok()) return EndWith(desired.status());
  {
    absl::MutexLock lock(&newest_mutex_);
    newest_ = *std::move(desired);
  }
  Wake();
}

StreamPump::Step WatchDesired::Produce(absl::Status&) {
  std::shared_ptr<const control::DesiredState> desired;
  {
    absl::MutexLock lock(&newest_mutex_);
    desired = std::exchange(newest_, nullptr);
  }
  if (desired == nullptr) return Step::kWait;
  message() = ToProto(*desired);
  return Step::kWrite;
}

}  // namespace epochd::api
