// SPDX-License-Identifier: Apache-2.0
//
// Names and values of the API as epochctl writes them. What comes from others
// is made safe for a terminal here. Stateless.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "absl/time/time.h"
#include "client/terminal/table.h"
#include "epochd/v1/job.pb.h"
#include "epochd/v1/worker.pb.h"

namespace epochd::epochctl {

// Text from others: no control characters.
std::string Safe(const std::string& text);
// The same of a text of several lines, such as one problem each.
std::string OneLine(const std::string& text);

// "RUNNING", "no_free_devices", "ready".
std::string Word(v1::JobState state);
std::string Word(v1::JobReason reason);
std::string Word(v1::AttemptState state);
std::string Word(v1::AttemptReason reason);
std::string Word(v1::WorkerState state);

terminal::Cell StateCell(v1::JobState state);
terminal::Cell StateCell(v1::WorkerState state);

// "jobs/x" of "x" or "jobs/x"; the same for workers.
std::string JobName(const std::string& id);
std::string WorkerName(const std::string& id);
// "x" of "jobs/x".
std::string Id(const std::string& name);

// "3m12s" since `time`; "-" when it is not set.
std::string Age(const google::protobuf::Timestamp& time, bool is_set,
                absl::Time now);

// Whether the job trains: its task is not to test, to predict or the like.
bool Trains(const v1::JobSpec& spec);

// "12/30" or "-".
std::string EpochText(const v1::Progress& progress);
// "val/accuracy 0.9750 (21)" or "-".
std::string BestText(const v1::BestMetric& best);

}  // namespace epochd::epochctl
