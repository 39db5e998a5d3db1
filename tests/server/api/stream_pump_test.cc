// SPDX-License-Identifier: Apache-2.0
#include "server/api/stream_pump.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace epochd::api {
namespace {

constexpr absl::Duration kEnough = absl::Minutes(1);

// Writes the numbers up to `available` and ends after `last`. Writes complete
// when the test says so, or at once from another thread with `auto_complete`.
class Numbers final : public StreamPump {
 public:
  Numbers(WorkPool& pool, int last) : StreamPump(pool), last_(last) {}

  using StreamPump::OnCancelled;
  using StreamPump::OnWritten;

  void Offer(int available) {
    available_ = available;
    Wake();
  }
  void CompleteWritesOn(WorkPool* pool) { completer_ = pool; }

  void WaitForWrites(int count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [this, count] {
      mutex_.AssertReaderHeld();
      return static_cast<int>(written_.size()) >= count;
    };
    ASSERT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), kEnough));
  }
  absl::Status WaitForFinish() {
    EXPECT_TRUE(finished_.WaitForNotificationWithTimeout(kEnough));
    absl::MutexLock lock(&mutex_);
    return status_;
  }
  bool IsFinished() const { return finished_.HasBeenNotified(); }
  std::vector<int> written() {
    absl::MutexLock lock(&mutex_);
    return written_;
  }
  bool Overlapped() const { return overlapped_; }

 private:
  Step Produce(absl::Status& end_status) override {
    if (in_produce_.exchange(true) || in_flight_) overlapped_ = true;
    Step step = Step::kWait;
    if (next_ > last_) {
      end_status = absl::DataLossError("the end");
      step = Step::kEnd;
    } else if (next_ <= available_) {
      step = Step::kWrite;
    }
    in_produce_ = false;
    return step;
  }
  void StartWrite() override {
    if (in_flight_.exchange(true) || IsFinished()) overlapped_ = true;
    {
      absl::MutexLock lock(&mutex_);
      written_.push_back(next_++);
    }
    if (completer_ == nullptr) return;
    completer_->Post([self = shared_from_this(), this] { Complete(true); });
  }
  void StartFinish(const absl::Status& status) override {
    if (in_flight_ || IsFinished()) overlapped_ = true;
    {
      absl::MutexLock lock(&mutex_);
      status_ = status;
    }
    finished_.Notify();
  }

 public:
  void Complete(bool ok) {
    in_flight_ = false;
    OnWritten(ok);
  }

 private:
  const int last_;
  std::atomic<int> available_{0};
  std::atomic<bool> in_produce_{false};
  std::atomic<bool> in_flight_{false};
  std::atomic<bool> overlapped_{false};
  WorkPool* completer_ = nullptr;
  std::atomic<int> next_{1};
  absl::Notification finished_;
  absl::Mutex mutex_;
  std::vector<int> written_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

TEST(StreamPumpTest, WritesOneMessageAtATimeAndEndsWithTheStatus) {
  WorkPool pool(4);
  auto stream = std::make_shared<Numbers>(pool, 3);
  stream->Offer(3);
  for (int i = 1; i <= 3; ++i) {
    stream->WaitForWrites(i);
    EXPECT_EQ(static_cast<int>(stream->written().size()), i)
        << "the next one is not made before the last was taken";
    stream->Complete(true);
  }
  EXPECT_EQ(stream->WaitForFinish(), absl::DataLossError("the end"));
  EXPECT_EQ(stream->written(), (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(stream->Overlapped());
}

TEST(StreamPumpTest, SleepsUntilWoken) {
  WorkPool pool(2);
  auto stream = std::make_shared<Numbers>(pool, 2);
  stream->Offer(0);
  stream->Offer(1);
  stream->WaitForWrites(1);
  stream->Complete(true);
  EXPECT_FALSE(stream->IsFinished());
  stream->Offer(2);
  stream->WaitForWrites(2);
  stream->Complete(true);
  EXPECT_FALSE(stream->WaitForFinish().ok());
}

TEST(StreamPumpTest, CancellationWaitsForTheWriteInFlight) {
  WorkPool pool(2);
  auto stream = std::make_shared<Numbers>(pool, 9);
  stream->Offer(9);
  stream->WaitForWrites(1);
  stream->OnCancelled();
  EXPECT_FALSE(stream->IsFinished());
  stream->Complete(false);
  EXPECT_EQ(stream->WaitForFinish().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(stream->written().size(), 1u);
}

TEST(StreamPumpTest, EndWithEndsAnIdleStreamAndTheFirstStatusStays) {
  WorkPool pool(2);
  auto stream = std::make_shared<Numbers>(pool, 9);
  stream->EndWith(absl::UnavailableError("stopping"));
  stream->EndWith(absl::InternalError("later"));
  EXPECT_EQ(stream->WaitForFinish(), absl::UnavailableError("stopping"));
  EXPECT_TRUE(stream->written().empty());
}

TEST(StreamPumpTest, FailedWriteEndsTheStream) {
  WorkPool pool(2);
  auto stream = std::make_shared<Numbers>(pool, 9);
  stream->Offer(9);
  stream->WaitForWrites(1);
  stream->Complete(false);
  EXPECT_EQ(stream->WaitForFinish().code(), absl::StatusCode::kCancelled);
}

TEST(StreamPumpTest, WakesAfterTheEndAreHarmless) {
  WorkPool pool(2);
  auto stream = std::make_shared<Numbers>(pool, 0);
  stream->Wake();
  EXPECT_FALSE(stream->WaitForFinish().ok());
  for (int i = 0; i < 100; ++i) stream->Wake();
  stream->OnCancelled();
  EXPECT_FALSE(stream->Overlapped());
}

TEST(StreamPumpTest, LivesUntilItsPostedTaskRan) {
  std::weak_ptr<Numbers> weak;
  {
    WorkPool pool(1);
    auto stream = std::make_shared<Numbers>(pool, 9);
    weak = stream;
    stream->Wake();
  }
  EXPECT_TRUE(weak.expired());
}

// Many threads wake, offer, complete and cancel at once, from seeds.
TEST(StreamPumpTest, StaysSerialUnderPressure) {
  for (int seed = 0; seed < 30; ++seed) {
    WorkPool pool(4);
    WorkPool completer(2);
    constexpr int kLast = 200;
    auto stream = std::make_shared<Numbers>(pool, kLast);
    stream->CompleteWritesOn(&completer);
    const bool cancel = seed % 3 == 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(seed * 10 + t));
        for (int i = 0; i < 200; ++i) {
          if (t == 0) stream->Offer(i + 1);
          if (random() % 2 == 0) stream->Wake();
          if (cancel && t == 2 && i == 100) stream->OnCancelled();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    stream->Offer(kLast);
    const absl::Status status = stream->WaitForFinish();
    EXPECT_FALSE(stream->Overlapped()) << seed;
    const std::vector<int> written = stream->written();
    for (size_t i = 0; i < written.size(); ++i) {
      ASSERT_EQ(written[i], static_cast<int>(i) + 1) << seed;
    }
    if (!cancel) {
      EXPECT_EQ(written.size(), static_cast<size_t>(kLast));
    }
  }
}

}  // namespace
}  // namespace epochd::api
