// SPDX-License-Identifier: Apache-2.0
#include "proto/wire/time.h"

#include <gtest/gtest.h>

namespace epochd::wire {
namespace {

TEST(TimeTest, TimesSurviveTheWireToTheNanosecond) {
  for (const absl::Time time :
       {absl::UnixEpoch(), absl::UnixEpoch() - absl::Nanoseconds(1),
        absl::FromUnixNanos(1700000000123456789)}) {
    const auto wire = ToProto(time);
    EXPECT_GE(wire.nanos(), 0);
    EXPECT_EQ(FromProto(wire), time) << time;
  }
}

TEST(TimeTest, DurationsSurviveTheWireToTheNanosecond) {
  for (const absl::Duration duration :
       {absl::ZeroDuration(), absl::Milliseconds(-1500), absl::Nanoseconds(1),
        absl::Hours(2) + absl::Nanoseconds(7)}) {
    EXPECT_EQ(FromProto(ToProto(duration)), duration) << duration;
  }
  EXPECT_EQ(ToProto(absl::Milliseconds(-1500)).seconds(), -1);
  EXPECT_EQ(ToProto(absl::Milliseconds(-1500)).nanos(), -500000000);
}

TEST(TimeTest, WhatDoesNotFitIsClamped) {
  EXPECT_EQ(ToProto(absl::InfiniteFuture()).seconds(), 253402300799);
  EXPECT_EQ(ToProto(absl::InfinitePast()).seconds(), -62135596800);
  EXPECT_EQ(ToProto(absl::InfiniteDuration()).seconds(), 315576000000);
  EXPECT_EQ(ToProto(-absl::InfiniteDuration()).seconds(), -315576000000);
  google::protobuf::Duration malformed;
  malformed.set_seconds(INT64_MAX);
  malformed.set_nanos(INT32_MAX);
  EXPECT_LT(FromProto(malformed), absl::InfiniteDuration());
}

}  // namespace
}  // namespace epochd::wire
