// SPDX-License-Identifier: Apache-2.0
//
// Workers and what agents say and hear, to and from the wire. Reading checks
// what is sent; InvalidArgument names the field. Stateless.
#pragma once

#include "absl/status/statusor.h"
#include "epochd/v1/agent.pb.h"
#include "epochd/v1/worker.pb.h"
#include "server/control/agent_messages.h"
#include "server/fleet/worker.h"

namespace epochd::api {

v1::Worker ToProto(const fleet::WorkerView& view);
v1::DesiredState ToProto(const control::DesiredState& desired);

// Without what the catalogue says.
absl::StatusOr<control::Registration> FromProto(
    const v1::RegisterRequest& request);
absl::StatusOr<control::Heartbeat> FromProto(
    const v1::HeartbeatRequest& request);
// Takes the lines out of the request.
absl::StatusOr<control::EventLines> FromProto(
    const v1::ReportEventsRequest& request);

}  // namespace epochd::api
