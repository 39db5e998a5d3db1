// SPDX-License-Identifier: Apache-2.0
//
// Time across the wire. What a protobuf type cannot hold is clamped to what it
// can, infinities included; what comes in malformed is clamped too. Stateless.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include "absl/time/time.h"

namespace epochd::wire {

google::protobuf::Timestamp ToProto(absl::Time time);
google::protobuf::Duration ToProto(absl::Duration duration);

absl::Time FromProto(const google::protobuf::Timestamp& time);
absl::Duration FromProto(const google::protobuf::Duration& duration);

}  // namespace epochd::wire
