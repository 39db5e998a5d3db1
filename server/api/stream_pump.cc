// SPDX-License-Identifier: Apache-2.0
#include "server/api/stream_pump.h"

#include <utility>

namespace epochd::api {

void StreamPump::Wake() {
  absl::MutexLock lock(&mutex_);
  WakeLocked();
}

void StreamPump::EndWith(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  if (!end_) end_ = std::move(status);
  WakeLocked();
}

void StreamPump::OnWritten(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (!ok && !end_) end_ = absl::CancelledError("the reader is gone");
  WakeLocked();
}

void StreamPump::OnCancelled() {
  EndWith(absl::CancelledError("the reader cancelled"));
}

void StreamPump::WakeLocked() {
  switch (state_) {
    case State::kFinished:
      return;
    case State::kPosted:
      again_ = true;
      return;
    case State::kIdle:
      state_ = State::kPosted;
      pool_.Post([self = shared_from_this()] { self->Run(); });
  }
}

bool StreamPump::MayProduce(std::optional<absl::Status>& finish) {
  absl::MutexLock lock(&mutex_);
  again_ = false;
  if (writing_) {
    // OnWritten wakes again.
    state_ = State::kIdle;
    return false;
  }
  if (end_) {
    state_ = State::kFinished;
    finish = *end_;
    return false;
  }
  return true;
}

void StreamPump::Run() {
  while (true) {
    std::optional<absl::Status> finish;
    if (!MayProduce(finish)) {
      if (finish) StartFinish(*finish);
      return;
    }
    absl::Status end_status;
    const Step step = Produce(end_status);
    if (step == Step::kWrite) {
      {
        absl::MutexLock lock(&mutex_);
        writing_ = true;
      }
      StartWrite();
    }
    absl::MutexLock lock(&mutex_);
    if (step == Step::kEnd) {
      if (!end_) end_ = std::move(end_status);
    } else if (!again_) {
      state_ = State::kIdle;
      return;
    }
  }
}

}  // namespace epochd::api
