// SPDX-License-Identifier: Apache-2.0
#include "program/signals.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace epochd::program {
namespace {

TEST(StopSignalTest, WaitReturnsTheSignal) {
  StopSignal stop;
  ::kill(::getpid(), SIGTERM);
  const Stop why = stop.Wait();
  EXPECT_EQ(why.signal, SIGTERM);
  EXPECT_EQ(why.reason, "got SIGTERM");
}

TEST(StopSignalTest, RequestWakesWaitAndTheFirstReasonStays) {
  StopSignal stop;
  std::thread other([&] {
    stop.Request("listener is dead");
    stop.Request("second");
  });
  const Stop why = stop.Wait();
  other.join();
  EXPECT_EQ(why.signal, 0);
  EXPECT_EQ(why.reason, "listener is dead");
}

TEST(StopSignalTest, FdIsReadableOnlyOnceSomethingCame) {
  StopSignal stop;
  pollfd poll_fd{stop.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&poll_fd, 1, 0), 0);
  stop.Request("now");
  EXPECT_EQ(::poll(&poll_fd, 1, 0), 1);
  stop.Wait();
}

TEST(StopSignalDeathTest, SecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        StopSignal stop;
        ::kill(::getpid(), SIGINT);
        stop.Wait();
        ::kill(::getpid(), SIGTERM);
        ::pause();
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalDeathTest, SecondSignalIsIgnoredWhereThatWasAskedFor) {
  EXPECT_EXIT(
      {
        StopSignal stop(Again::kIgnored);
        ::kill(::getpid(), SIGTERM);
        stop.Wait();
        ::kill(::getpid(), SIGTERM);
        ::_exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace epochd::program
