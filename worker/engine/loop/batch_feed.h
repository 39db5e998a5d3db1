// SPDX-License-Identifier: Apache-2.0
//
// BatchFeed: the batches of one epoch, with the knowledge which is the last. A
// source of unknown length is read one batch ahead for it. Lives for one epoch
// of a runner; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "worker/engine/core/dataset.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {

class BatchFeed {
 public:
  // `source` was begun at batch `taken`; outlives this. `waited`: grows by the
  // seconds spent on it; may be nullptr.
  BatchFeed(BatchSource& source, int64_t taken, double* waited = nullptr)
      : source_(source),
        num_batches_(source.NumBatches()),
        taken_(taken),
        waited_(waited) {}

  // False: the epoch is over.
  bool Next(Batch& batch) {
    if (num_batches_ != kUnknownLength) {
      if (!Ask(batch)) return false;
      ++taken_;
      return true;
    }
    if (!is_begun_) Look();
    is_begun_ = true;
    if (!ahead_) return false;
    batch = std::move(*ahead_);
    ++taken_;
    Look();
    return true;
  }
  // Whether the batch that Next() gave is the epoch's last.
  bool is_last() const {
    return num_batches_ == kUnknownLength ? !ahead_ : taken_ == num_batches_;
  }
  // Below 0: not known.
  int64_t num_batches() const { return num_batches_; }
  int64_t taken() const { return taken_; }

 private:
  void Look() {
    ahead_.emplace();
    if (!Ask(*ahead_)) ahead_.reset();
  }
  bool Ask(Batch& batch) {
    if (waited_ == nullptr) return source_.Next(batch);
    const auto began = std::chrono::steady_clock::now();
    const bool is_there = source_.Next(batch);
    *waited_ +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began)
            .count();
    return is_there;
  }

  BatchSource& source_;
  const int64_t num_batches_;
  int64_t taken_;
  double* const waited_;
  bool is_begun_ = false;
  std::optional<Batch> ahead_;
};

// After the end: throws Error(kTraining) when the source had fewer batches than
// it said, as groups and schedules were counted on them.
inline void CheckWhole(const BatchFeed& feed) {
  if (feed.num_batches() < 0 || feed.taken() == feed.num_batches()) return;
  throw Error(ErrorKind::kTraining,
              "data: the epoch ended after " + std::to_string(feed.taken()) +
                  " batches; the loader said that there are " +
                  std::to_string(feed.num_batches()));
}

}  // namespace epochd::engine
