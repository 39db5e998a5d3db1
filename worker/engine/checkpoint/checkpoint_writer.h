// SPDX-License-Identifier: Apache-2.0
//
// CheckpointWriter: writes checkpoints beside the training. Start() stalls the
// caller by the copy of the tensors to the host that cannot wait (host_copy.h);
// a thread copies the others, hashes, writes, syncs and renames. At most one is
// under way: a Start() that comes before the last one is done waits for it.
// Used by one thread; its own thread begins at the first Start() and ends with
// the object, which waits for it.
//
//   writer.Start(folder, trainer.TakeSnapshot());
//   ...
//   if (auto result = writer.Poll()) { ... }   // every now and then
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/checkpoint/host_copy.h"

namespace epochd::engine {

class CheckpointWriter {
 public:
  struct Result {
    SavedCheckpoint saved;
    std::string error;  // empty: it is whole and durable
  };

  CheckpointWriter() = default;
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // The result of the last one must have been taken: Wait() before it.
  void Start(const std::string& folder, Snapshot snapshot);
  // Writes the last snapshot again, after it failed.
  void Retry();
  // What the started write came to, once; nothing: it is not done, or was
  // taken.
  std::optional<Result> Poll();
  // The same, but waits until it is done.
  std::optional<Result> Wait();

 private:
  void Run();
  std::optional<Result> TakeLocked();

  HostCopy copy_;  // the thread's while writing, else the caller's
  std::thread thread_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool is_wanted_ = false;   // a write is asked for
  bool is_writing_ = false;  // and not done
  bool stop_ = false;
  std::string folder_;
  Snapshot snapshot_;
  std::optional<Result> result_;
};

}  // namespace epochd::engine
