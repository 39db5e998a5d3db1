// SPDX-License-Identifier: Apache-2.0
#include "server/api/read_logs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/field_rules.h"
#include "server/api/names.h"

namespace epochd::api {
namespace {

constexpr int64_t kLogChunkBytes = 64 << 10;

absl::Status CheckRequest(const v1::ReadLogsRequest& request) {
  FieldRules rules;
  rules.InRange("rank", request.rank(), 0, INT32_MAX);
  rules.InRange("attempt", request.attempt(), 0, INT32_MAX);
  rules.InRange("offset", request.offset(), 0, INT64_MAX);
  rules.InRange("tail_bytes", request.tail_bytes(), 0, INT64_MAX);
  if (request.offset() > 0 && request.attempt() == 0) {
    rules.Add("offset", absl::StrCat("'", request.offset(),
                                     "' needs the attempt that it is in, 0 is "
                                     "accepted without"));
  }
  if (request.offset() > 0 && request.tail_bytes() > 0) {
    rules.Add("tail_bytes", absl::StrCat("'", request.tail_bytes(),
                                         "' beside an offset, one of the two "
                                         "is accepted"));
  }
  if (rules.violations().empty()) return absl::OkStatus();
  return wire::BadRequest(rules.violations());
}

}  // namespace

ReadLogs::ReadLogs(Backend& backend, const v1::ReadLogsRequest& request)
    : ServerStream(backend.pool, backend.streams),
      controller_(backend.controller),
      logs_(backend.logs),
      request_(request),
      attempt_(request.attempt()),
      offset_(request.offset()) {}

void ReadLogs::Begin() {
  const auto id = ParseJobName(request_.name());
  if (!id.ok()) return EndWith(id.status());
  const absl::Status valid = CheckRequest(request_);
  if (!valid.ok()) return EndWith(valid);
  job_ = *id;
  if (request_.follow()) {
    log_growth_ = logs_.Subscribe(job_, [this] { Wake(); });
    auto changes = controller_.WatchJob(job_, [this] { Wake(); });
    if (!changes.ok()) return EndWith(changes.status());
    state_changes_ = *std::move(changes);
  }
  Wake();
}

void ReadLogs::Unsubscribe() {
  log_growth_ = events::Subscription();
  state_changes_.reset();
}

absl::Status ReadLogs::FindStart() {
  started_ = true;
  if (request_.tail_bytes() == 0) return absl::OkStatus();
  if (attempt_ == 0) {
    const auto attempts = logs_.Attempts(job_, request_.rank());
    if (!attempts.ok()) return attempts.status();
    if (attempts->empty()) return absl::OkStatus();
    attempt_ = attempts->back().value();
  }
  const events::LogKey key{{job_, job::AttemptNumber(attempt_)},
                           request_.rank()};
  const auto size = logs_.Read(key, 0, 0);
  if (!size.ok()) return size.status();
  offset_ = std::max<int64_t>(0, size->size - request_.tail_bytes());
  return absl::OkStatus();
}

absl::StatusOr<bool> ReadLogs::ReadMore() {
  while (true) {
    if (attempt_ > 0) {
      const events::LogKey key{{job_, job::AttemptNumber(attempt_)},
                               request_.rank()};
      auto chunk = logs_.Read(key, offset_, kLogChunkBytes);
      if (!chunk.ok()) return chunk.status();
      const bool truncated =
          chunk->full && !told_truncated_ &&
          offset_ + static_cast<int64_t>(chunk->data.size()) >= chunk->size;
      if (!chunk->data.empty() || truncated) {
        message().Clear();
        message().set_attempt(attempt_);
        message().set_offset(offset_);
        message().set_truncated(truncated);
        offset_ += static_cast<int64_t>(chunk->data.size());
        message().set_data(std::move(chunk->data));
        told_truncated_ = truncated;
        return true;
      }
      if (request_.attempt() > 0) return false;
    }
    const auto attempts = logs_.Attempts(job_, request_.rank());
    if (!attempts.ok()) return attempts.status();
    const auto next = std::find_if(attempts->begin(), attempts->end(),
                                   [this](job::AttemptNumber number) {
                                     return number.value() > attempt_;
                                   });
    if (next == attempts->end()) return false;
    attempt_ = next->value();
    offset_ = 0;
    told_truncated_ = false;
  }
}

bool ReadLogs::IsComplete(const job::Job& job) const {
  if (job.IsTerminal() || !request_.follow()) return true;
  if (request_.attempt() == 0) return false;
  const size_t index = static_cast<size_t>(request_.attempt()) - 1;
  return index < job.attempts.size() &&
         job.attempts[index].state == job::AttemptState::kEnded;
}

StreamPump::Step ReadLogs::Produce(absl::Status& end_status) {
  if (told_end_) return Step::kEnd;
  // The state first: what is written before a job finishes is read after.
  const auto view = controller_.Get(job_);
  absl::Status status = view.status();
  if (status.ok() && !started_) status = FindStart();
  if (status.ok()) {
    const auto more = ReadMore();
    status = more.status();
    if (status.ok() && *more) return Step::kWrite;
  }
  if (!status.ok()) {
    end_status = status;
    return Step::kEnd;
  }
  if (!IsComplete(*view->job)) return Step::kWait;
  message().Clear();
  message().set_attempt(attempt_);
  message().set_offset(offset_);
  message().set_end(true);
  message().set_final_state(static_cast<v1::JobState>(view->job->state));
  told_end_ = true;
  return Step::kWrite;
}

}  // namespace epochd::api
