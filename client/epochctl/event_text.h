// SPDX-License-Identifier: Apache-2.0
//
// An event as one line for people, safe to print. Stateless.
#pragma once

#include <cstdint>
#include <string>

#include "epochd/v1/job.pb.h"

namespace epochd::epochctl {

// Whether they are of a validation within an epoch, not of a step or of a test.
bool IsValidation(const v1::MetricsLogged& metrics);
// Kind of event: "job_state", "epoch_finished".
std::string EventKind(const v1::Event& event);

// What it says; empty when there is nothing to say of it.
std::string EventText(const v1::Event& event);

// "epoch  3/30  train/loss 0.1234  9.2k/s"; without the total where it is 0.
std::string EpochLine(const v1::EpochFinished& epoch, int64_t total_epochs);

// "train/loss 0.1234  val/accuracy 0.9750".
std::string MetricsText(
    const google::protobuf::Map<std::string, double>& metrics);

}  // namespace epochd::epochctl
