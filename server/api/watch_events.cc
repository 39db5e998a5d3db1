// SPDX-License-Identifier: Apache-2.0
#include "server/api/watch_events.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/convert_job.h"
#include "server/api/names.h"

namespace epochd::api {
namespace {

constexpr int32_t kBatch = 64;

}  // namespace

WatchEvents::WatchEvents(Backend& backend,
                         const v1::WatchEventsRequest& request)
    : ServerStream(backend.pool, backend.streams),
      controller_(backend.controller),
      request_(request),
      cursor_(request.after()) {}

void WatchEvents::Begin() {
  const auto id = ParseJobName(request_.name());
  if (!id.ok()) return EndWith(id.status());
  if (request_.after() < 0) {
    return EndWith(wire::BadRequest(
        {{"after", absl::StrCat("'", request_.after(),
                                "' is negative, 0 and more is accepted")}}));
  }
  job_ = *id;
  auto subscription = controller_.WatchJob(job_, [this] { Wake(); });
  if (!subscription.ok()) return EndWith(subscription.status());
  subscription_ = *std::move(subscription);
  Wake();
}

StreamPump::Step WatchEvents::Produce(absl::Status& end_status) {
  if (events_.empty()) {
    auto page = controller_.ReadEvents(job_, cursor_, kBatch);
    if (!page.ok()) {
      end_status = page.status();
      return Step::kEnd;
    }
    events_.assign(page->events.begin(), page->events.end());
    if (events_.empty() && page->finished) {
      end_status = absl::OkStatus();
      return Step::kEnd;
    }
  }
  if (!events_.empty()) {
    message() = ToProto(job_, *events_.front());
    cursor_ = events_.front()->sequence;
    events_.pop_front();
    return Step::kWrite;
  }
  if (!request_.without_progress()) {
    if (auto progress = controller_.ReadProgress(job_, progress_number_)) {
      progress_number_ = progress->number;
      message() = ToProto(*progress);
      return Step::kWrite;
    }
  }
  return Step::kWait;
}

}  // namespace epochd::api
