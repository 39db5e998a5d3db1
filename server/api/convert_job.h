// SPDX-License-Identifier: Apache-2.0
//
// Jobs from the coordinator's plain values to the wire. Stateless.
#pragma once

#include "epochd/v1/job.pb.h"
#include "server/control/views.h"
#include "server/job/event.h"
#include "server/job/spec.h"

namespace epochd::api {

v1::JobSpec ToProto(const job::JobSpec& spec);
v1::Job ToProto(const control::JobView& view);
v1::RankPlacement ToProto(const job::RankPlacement& rank);
v1::Checkpoint ToProto(job::JobId id, const job::Checkpoint& checkpoint);
v1::Progress ToProto(const job::Progress& progress);
v1::Event ToProto(job::JobId id, const job::Event& event);
// As an event without sequence.
v1::Event ToProto(const control::NumberedProgress& progress);

}  // namespace epochd::api
