// SPDX-License-Identifier: Apache-2.0
//
// The rules of a server stream's life, once: writes, finish and cancellation
// are serialised, one message is in flight at most, and whoever is slow delays
// only itself, since the next message is made when the last one was taken.
//
//   Wake() -> [pool] Produce() -> kWrite -> StartWrite() ... OnWritten() -> ...
//                              -> kWait  -> (sleeps until Wake)
//                              -> kEnd   -> StartFinish(), never more
//   OnCancelled(), EndWith()   -> StartFinish() once no write is in flight
//
// Lives by shared_ptr: the transport holds one until its own end, and each
// posted task one, since neither knows which is last. Wake, OnWritten,
// OnCancelled and EndWith may be called from any thread at any time.
#pragma once

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/api/work_pool.h"

namespace epochd::api {

class StreamPump : public std::enable_shared_from_this<StreamPump> {
 public:
  enum class Step { kWrite, kWait, kEnd };

  virtual ~StreamPump() = default;
  StreamPump(const StreamPump&) = delete;
  StreamPump& operator=(const StreamPump&) = delete;

  // Has Produce called soon. Never blocks.
  void Wake();
  // Ends the stream with `status` once no write is in flight; the first one
  // given stays.
  void EndWith(absl::Status status);

 protected:
  explicit StreamPump(WorkPool& pool) : pool_(pool) {}

  // Called by the pool, one call at a time, never while a write is in flight.
  // kWrite: the next message is ready. kEnd: `end_status` was set.
  virtual Step Produce(absl::Status& end_status) = 0;
  // The transport's; each may answer on another thread before it returns.
  virtual void StartWrite() = 0;
  virtual void StartFinish(const absl::Status& status) = 0;

  void OnWritten(bool ok);
  void OnCancelled();

 private:
  enum class State { kIdle, kPosted, kFinished };

  void Run();
  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Decides what to do before producing; true: go on producing.
  bool MayProduce(std::optional<absl::Status>& finish);

  WorkPool& pool_;
  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kIdle;
  // Woken since the task began to produce.
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace epochd::api
