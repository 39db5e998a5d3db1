// SPDX-License-Identifier: Apache-2.0
#include "proto/wire/time.h"

#include <algorithm>
#include <cstdint>

namespace epochd::wire {
namespace {

// 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z.
constexpr int64_t kMinSeconds = -62135596800;
constexpr int64_t kMaxSeconds = 253402300799;
constexpr int64_t kMaxDurationSeconds = 315576000000;
constexpr int kMaxNanos = 999999999;

}  // namespace

google::protobuf::Timestamp ToProto(absl::Time time) {
  google::protobuf::Timestamp out;
  const absl::Time latest =
      absl::FromUnixSeconds(kMaxSeconds) + absl::Nanoseconds(kMaxNanos);
  time = std::clamp(time, absl::FromUnixSeconds(kMinSeconds), latest);
  const int64_t seconds = absl::ToUnixSeconds(time);
  out.set_seconds(seconds);
  out.set_nanos(static_cast<int>(
      absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return out;
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration out;
  const absl::Duration most = absl::Seconds(kMaxDurationSeconds);
  duration = std::clamp(duration, -most, most);
  absl::Duration rest;
  out.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  out.set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(rest)));
  return out;
}

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(
             std::clamp(time.seconds(), kMinSeconds, kMaxSeconds)) +
         absl::Nanoseconds(std::clamp(time.nanos(), 0, kMaxNanos));
}

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(std::clamp(duration.seconds(), -kMaxDurationSeconds,
                                  kMaxDurationSeconds)) +
         absl::Nanoseconds(std::clamp(duration.nanos(), -kMaxNanos, kMaxNanos));
}

}  // namespace epochd::wire
