// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/bounded_source.h"

#include <algorithm>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// What such a view does not change.
class SourceView : public BatchSource {
 public:
  explicit SourceView(std::unique_ptr<BatchSource> source)
      : source_(std::move(source)) {}

  int64_t NumSamples() const override { return source_->NumSamples(); }
  int64_t BatchSize() const override { return source_->BatchSize(); }
  const Dataset* dataset() const override { return source_->dataset(); }
  std::vector<int64_t> Indices() const override { return source_->Indices(); }
  Skipped skipped() const override { return source_->skipped(); }
  void ContinueSkipped(const Skipped& before) override {
    source_->ContinueSkipped(before);
  }

 protected:
  const std::unique_ptr<BatchSource> source_;
};

class LimitedSource : public SourceView {
 public:
  LimitedSource(std::unique_ptr<BatchSource> source, int64_t limit)
      : SourceView(std::move(source)), limit_(limit) {}

  void StartEpoch(int64_t epoch, int64_t first_batch) override {
    taken_ = first_batch;
    source_->StartEpoch(epoch, first_batch);
  }
  bool Next(Batch& batch) override {
    if (taken_ >= limit_ || !source_->Next(batch)) return false;
    ++taken_;
    return true;
  }
  int64_t NumBatches() const override {
    const int64_t inner = source_->NumBatches();
    if (inner == kUnknownLength) return kUnknownLength;
    return inner == kEndless ? limit_ : std::min(inner, limit_);
  }
  // Of a rank's share that is cut off; the whole is not known from here.
  int64_t NumSamples() const override {
    const int64_t batches = source_->NumBatches();
    if (batches <= 0) return limit_ * source_->BatchSize();
    return source_->NumSamples() * std::min(limit_, batches) / batches;
  }

 private:
  const int64_t limit_;
  int64_t taken_ = 0;
};

class RepeatedSource : public SourceView {
 public:
  RepeatedSource(std::unique_ptr<BatchSource> source, int64_t limit)
      : SourceView(std::move(source)),
        limit_(limit),
        batches_(source_->NumBatches()) {
    if (batches_ <= 0) {
      throw Error(ErrorKind::kBadSpec,
                  "endless: the data has no batch, or no known number of "
                  "them, to repeat");
    }
  }

  void StartEpoch(int64_t epoch, int64_t first_batch) override {
    const int64_t place =
        (limit_ == kEndless ? 0 : epoch * limit_) + first_batch;
    taken_ = first_batch;
    round_ = place / batches_;
    source_->StartEpoch(round_, place % batches_);
  }
  bool Next(Batch& batch) override {
    if (limit_ != kEndless && taken_ >= limit_) return false;
    ++taken_;
    if (source_->Next(batch)) return true;
    Skipped before = source_->skipped();
    source_->StartEpoch(++round_, 0);
    before.of_round = 0;
    source_->ContinueSkipped(before);
    return source_->Next(batch);
  }
  int64_t NumBatches() const override { return limit_; }

 private:
  const int64_t limit_;
  const int64_t batches_;
  int64_t round_ = 0;
  int64_t taken_ = 0;
};

}  // namespace

std::unique_ptr<BatchSource> LimitBatches(std::unique_ptr<BatchSource> source,
                                          int64_t limit) {
  const int64_t batches = source->NumBatches();
  if (batches >= 0 && batches <= limit) return source;
  return std::make_unique<LimitedSource>(std::move(source), limit);
}

std::unique_ptr<BatchSource> RepeatForever(std::unique_ptr<BatchSource> source,
                                           int64_t limit) {
  return std::make_unique<RepeatedSource>(std::move(source), limit);
}

}  // namespace epochd::engine
