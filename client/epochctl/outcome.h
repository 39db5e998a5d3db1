// SPDX-License-Identifier: Apache-2.0
//
// What a finished job leaves, for people: where its files are, and as the last
// line the best of the monitored metric. Stateless.
#pragma once

#include <string>

#include "client/epochctl/history.h"
#include "epochd/v1/job.pb.h"

namespace epochd::epochctl {

// "a1 SUCCEEDED" or "a1 FAILED (training_failed): why", with a newline.
std::string StateText(const v1::Job& job);

// Lines ending in newlines; the last one is
// "best val/accuracy 0.9750 at epoch 21", "val/accuracy 0.9750" of a job that
// trains nothing, or the state where nothing was monitored or the job did not
// succeed.
std::string OutcomeText(const v1::Job& job, const History& history);

}  // namespace epochd::epochctl
