// SPDX-License-Identifier: Apache-2.0
//
// Any sequence of events, sensible or not: what must hold of a job after each.
#include <gtest/gtest.h>

#include <random>

#include "server/job/job.h"
#include "tests/server/job/make_job.h"

namespace epochd::job {
namespace {

class RandomEvents {
 public:
  explicit RandomEvents(uint32_t seed) : random_(seed) {}

  int Below(int n) { return static_cast<int>(random_() % n); }

  template <typename T>
  T OneOf(const std::vector<T>& all) {
    return all[Below(static_cast<int>(all.size()))];
  }

  Event Next(const Job& job) {
    Event event;
    event.sequence = job.last_sequence + (Below(20) == 0 ? Below(3) : 1);
    event.time = absl::FromUnixSeconds(job.last_sequence);
    event.attempt = AttemptNumber(job.CurrentAttempt().value() + Below(3) - 1);
    switch (Below(5)) {
      case 0: {
        event.attempt = AttemptNumber(Below(10) == 0 ? 1 : 0);
        event.body =
            JobStateChanged{OneOf(AllJobStates()), OneOf(AllJobReasons()), ""};
        break;
      }
      case 1: {
        AttemptStateChanged body;
        body.state = OneOf(AllAttemptStates());
        if (body.state >= AttemptState::kStopping) {
          body.reason = OneOf(AllAttemptReasons());
        }
        if (body.state == AttemptState::kAssigned) {
          body.ranks = Placement(Below(3));
          event.attempt = job.CurrentAttempt().Next();
        }
        body.counts_as_restart = Below(2) == 0;
        event.body = std::move(body);
        break;
      }
      case 2: {
        Checkpoint checkpoint;
        checkpoint.path = "/c" + std::to_string(Below(4));
        checkpoint.attempt = event.attempt;
        if (Below(3) == 0) {
          event.body = CheckpointRemoved{checkpoint};
        } else {
          event.body = CheckpointSaved{checkpoint};
        }
        break;
      }
      case 3:
        event.body = Notice{};
        break;
      default:
        event.body = EpochStarted{Below(9)};
        break;
    }
    return event;
  }

 private:
  std::mt19937 random_;
};

void ExpectSane(const Job& before, const Job& after) {
  ASSERT_EQ(after.last_sequence, before.last_sequence + 1);
  ASSERT_FALSE(before.IsTerminal());
  int num_alive = 0;
  for (size_t i = 0; i < after.attempts.size(); ++i) {
    ASSERT_EQ(after.attempts[i].number.value(), static_cast<int>(i) + 1);
    num_alive += after.attempts[i].state != AttemptState::kEnded;
  }
  ASSERT_LE(num_alive, 1);
  if (after.IsTerminal()) {
    ASSERT_EQ(num_alive, 0);
    ASSERT_TRUE(after.end_time.has_value());
  }
  if (before.state != after.state) {
    ASSERT_TRUE(MayFollow(before.state, after.state));
  }
  ASSERT_TRUE(Explains(after.reason, after.state));
  ASSERT_GE(after.num_restarts, before.num_restarts);
  ASSERT_LE(after.num_restarts, static_cast<int>(after.attempts.size()));
}

TEST(ApplyRandomTest, HoldsItsInvariantsUnderAnyEvents) {
  int num_terminal = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    RandomEvents random(seed);
    Job job = Submitted();
    std::vector<Event> journal;
    for (int i = 0; i < 400; ++i) {
      const Job before = job;
      Event event = random.Next(job);
      if (Apply(job, event).ok()) {
        ASSERT_NO_FATAL_FAILURE(ExpectSane(before, job));
        journal.push_back(std::move(event));
      } else {
        ASSERT_EQ(job.last_sequence, before.last_sequence);
        ASSERT_EQ(job.state, before.state);
        ASSERT_EQ(job.attempts.size(), before.attempts.size());
      }
    }
    num_terminal += job.IsTerminal();
    // The journal alone leads to the same job.
    Job replayed = Submitted();
    for (const Event& event : journal) {
      ASSERT_TRUE(Apply(replayed, event).ok());
    }
    ASSERT_EQ(replayed.state, job.state);
    ASSERT_EQ(replayed.checkpoints, job.checkpoints);
    ASSERT_EQ(replayed.num_restarts, job.num_restarts);
  }
  // The test reaches what it is about.
  EXPECT_GT(num_terminal, 200);
}

}  // namespace
}  // namespace epochd::job
