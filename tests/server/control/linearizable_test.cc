// SPDX-License-Identifier: Apache-2.0
//
// what many clients are told at once, while the store refuses and the
// coordinator is started anew, is what one after another could have been told.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "server/control/controller.h"
#include "spdlog/spdlog.h"
#include "tests/server/control/history.h"
#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

constexpr int kClients = 16;
constexpr int kNames = 40;
constexpr int kEach = 200;

// A coordinator that can be started anew beneath its clients.
class Service {
 public:
  explicit Service(store::JobStore& store) : store_(store) { Restart(); }

  // Answers of one that ended meanwhile are not heard.
  struct Life {
    std::unique_ptr<Controller> controller;
    std::atomic<bool> over = false;
  };
  // Waits while none is there, as who asked one that is ending would be told
  // nothing, at once, until nothing is left to ask.
  std::shared_ptr<Life> Connect() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](std::shared_ptr<Life>* life) { return *life != nullptr; }, &life_));
    return life_;
  }
  void Restart() {
    std::shared_ptr<Life> last;
    {
      absl::MutexLock lock(&mutex_);
      last.swap(life_);
    }
    if (last != nullptr) {
      last->over = true;
      last->controller->Stop();
    }
    auto life = std::make_shared<Life>();
    life->controller = std::make_unique<Controller>(Options{}, clock_, store_);
    ASSERT_TRUE(life->controller->Start().ok());
    absl::MutexLock lock(&mutex_);
    life_ = std::move(life);
  }

 private:
  store::JobStore& store_;
  const SystemClock clock_;
  absl::Mutex mutex_;
  std::shared_ptr<Life> life_;
};

class LinearizableTest : public testing::Test {
 protected:
  LinearizableTest() { spdlog::set_level(spdlog::level::off); }
  ~LinearizableTest() override { spdlog::set_level(spdlog::level::info); }

  struct Name {
    absl::Mutex mutex;
    std::optional<job::JobId> last;
    History history;
  };

  template <typename T, typename Call>
  static absl::StatusOr<T> Ask(Call call) {
    absl::Notification done;
    absl::StatusOr<T> answer = absl::UnknownError("");
    call([&](absl::StatusOr<T> got) {
      answer = std::move(got);
      done.Notify();
    });
    done.WaitForNotification();
    return answer;
  }

  // What the answer means. False: it was refused, so nothing happened.
  static bool Read(const absl::Status& status, Operation& operation) {
    switch (status.code()) {
      case absl::StatusCode::kOk:
        operation.outcome = Outcome::kOk;
        return true;
      case absl::StatusCode::kNotFound:
        operation.outcome = Outcome::kNotFound;
        return true;
      case absl::StatusCode::kFailedPrecondition:
        operation.outcome = Outcome::kNotFinished;
        return true;
      case absl::StatusCode::kResourceExhausted:
        return false;
      default:
        operation.outcome = Outcome::kUnknown;
        return true;
    }
  }

  // Returns whether it was taken down.
  bool Act(std::mt19937& random, int number) {
    Name& name = names_[number];
    Operation operation;
    operation.kind = static_cast<Kind>(random() % 4);
    {
      absl::MutexLock lock(&name.mutex);
      if (name.history.size() + kClients >= History::kMost) return false;
      if (!name.last) operation.kind = Kind::kSubmit;
      if (name.last) operation.id = *name.last;
    }
    const auto life = service_.Connect();
    Controller& controller = *life->controller;
    operation.begin = ++moment_;
    absl::Status status;
    absl::StatusOr<JobView> view = absl::UnknownError("");
    switch (operation.kind) {
      case Kind::kSubmit:
        view = Ask<JobView>([&](Done<JobView> done) {
          controller.Submit(Spec(), "name " + std::to_string(number),
                            std::move(done));
        });
        break;
      case Kind::kGet:
        view = controller.Get(operation.id);
        break;
      case Kind::kCancel:
        view = Ask<JobView>([&](Done<JobView> done) {
          controller.Cancel(operation.id, "", std::move(done));
        });
        break;
      case Kind::kDelete:
        status = Ask<int>([&](Done<int> done) {
                   controller.Delete(
                       operation.id, "",
                       [done = std::move(done)](absl::Status told) mutable {
                         if (told.ok()) return done(0);
                         done(std::move(told));
                       });
                 }).status();
    }
    if (operation.kind != Kind::kDelete) status = view.status();
    if (view.ok()) {
      operation.cancelled = view->job->state == job::JobState::kCancelled;
      operation.id = view->job->id;
    }
    if (!Read(status, operation)) return false;
    if (life->over) operation.outcome = Outcome::kUnknown;
    if (operation.outcome != Outcome::kUnknown) operation.end = ++moment_;
    // What was not heard of a reading changed nothing.
    if (operation.outcome == Outcome::kUnknown &&
        operation.kind == Kind::kGet) {
      return false;
    }
    ++num_of_[static_cast<size_t>(operation.outcome)];
    absl::MutexLock lock(&name.mutex);
    name.history.Add(operation);
    if (operation.outcome != Outcome::kUnknown &&
        operation.kind == Kind::kSubmit) {
      name.last = operation.id;
    }
    return true;
  }

  store::MemoryJobStore disk_;
  FailingStore store_{disk_};
  Service service_{store_};
  std::atomic<int64_t> moment_ = 0;
  std::atomic<int> num_of_[4] = {};
  Name names_[kNames];
};

TEST_F(LinearizableTest, AnswersToManyAtOnceFitInOneOrder) {
  std::vector<std::thread> clients;
  std::atomic<int> num_left = kClients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      std::mt19937 random(client);
      // What is refused at once says nothing and is tried again.
      for (int i = 0, tries = 0; i < kEach && tries < 100 * kEach; ++tries) {
        i += Act(random, static_cast<int>(random() % kNames));
      }
      --num_left;
    });
  }
  int num_restarts = 0;
  for (; num_left > 0; ++num_restarts) {
    store_.FailWith(absl::ResourceExhaustedError("full"));
    std::this_thread::yield();
    store_.FailWith(absl::OkStatus());
    const auto next = moment_ + 60;
    while (moment_ < next && num_left > 0) std::this_thread::yield();
    service_.Restart();
  }
  for (auto& client : clients) client.join();
  EXPECT_GT(num_restarts, 0);
  EXPECT_GT(num_of_[static_cast<size_t>(Outcome::kOk)], 100);
  for (Name& name : names_) {
    EXPECT_TRUE(name.history.IsLinearizable()) << name.history.Describe();
  }
}

// The search itself: it has to find what is wrong.
TEST(HistoryTest, FindsAnAnswerThatNoOrderExplains) {
  const job::JobId id(1, 2);
  const auto history = [](const std::vector<Operation>& operations) {
    History made;
    for (const Operation& one : operations) made.Add(one);
    return made.IsLinearizable();
  };
  const Operation submit{Kind::kSubmit, id, Outcome::kOk, false, 1, 2};
  const Operation cancel{Kind::kCancel, id, Outcome::kOk, true, 3, 6};
  // At the same time as the cancellation either is right, later one alone is.
  EXPECT_TRUE(
      history({submit, cancel, {Kind::kGet, id, Outcome::kOk, false, 4, 5}}));
  EXPECT_FALSE(
      history({submit, cancel, {Kind::kGet, id, Outcome::kOk, false, 7, 8}}));
  EXPECT_FALSE(
      history({submit, {Kind::kGet, id, Outcome::kNotFound, {}, 3, 4}}))
      << "an acknowledged job is lost";
  EXPECT_FALSE(history(
      {submit, {Kind::kSubmit, job::JobId(1, 3), Outcome::kOk, false, 3, 4}}))
      << "a second job of the same request";
  EXPECT_FALSE(history({submit, {Kind::kDelete, id, Outcome::kOk, {}, 3, 4}}))
      << "deleted though it was not finished";
  // Nobody knows whether and when it took place.
  const Operation unknown{Kind::kCancel, id, Outcome::kUnknown, {}, 3};
  EXPECT_TRUE(history({submit,
                       unknown,
                       {Kind::kGet, id, Outcome::kOk, false, 4, 5},
                       {Kind::kGet, id, Outcome::kOk, true, 6, 7}}));
  EXPECT_FALSE(history({submit,
                        unknown,
                        {Kind::kGet, id, Outcome::kOk, true, 4, 5},
                        {Kind::kGet, id, Outcome::kOk, false, 6, 7}}));
}

}  // namespace
}  // namespace epochd::control
