// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/checkpoint_writer.h"

#include <pthread.h>

#include <exception>
#include <utility>

namespace epochd::engine {

CheckpointWriter::~CheckpointWriter() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::Start(const std::string& folder, Snapshot snapshot) {
  Wait();
  copy_.Take(snapshot);
  {
    std::lock_guard lock(mutex_);
    folder_ = folder;
    snapshot_ = std::move(snapshot);
  }
  Retry();
}

void CheckpointWriter::Retry() {
  {
    std::lock_guard lock(mutex_);
    is_wanted_ = is_writing_ = true;
    result_.reset();
  }
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { Run(); });
    pthread_setname_np(thread_.native_handle(), "checkpoint");
  }
  changed_.notify_all();
}

std::optional<CheckpointWriter::Result> CheckpointWriter::TakeLocked() {
  if (is_writing_) return std::nullopt;
  return std::exchange(result_, std::nullopt);
}

std::optional<CheckpointWriter::Result> CheckpointWriter::Poll() {
  std::lock_guard lock(mutex_);
  return TakeLocked();
}

std::optional<CheckpointWriter::Result> CheckpointWriter::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_writing_; });
  return TakeLocked();
}

void CheckpointWriter::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || is_wanted_; });
    // What was asked for is written even when the end has come.
    if (!is_wanted_) return;
    is_wanted_ = false;
    lock.unlock();
    // Nobody else touches folder_ and snapshot_ while is_writing_.
    Result result;
    try {
      copy_.Finish();
      result.saved = WriteCheckpoint(folder_, snapshot_);
    } catch (const std::exception& error) {
      result.error = error.what();
    }
    lock.lock();
    result_ = std::move(result);
    is_writing_ = false;
    changed_.notify_all();
  }
}

}  // namespace epochd::engine
