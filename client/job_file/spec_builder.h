// SPDX-License-Identifier: Apache-2.0
//
// The service's own keys of a job file -> JobSpec. Stateless.
#pragma once

#include <string>

#include "client/job_file/document.h"
#include "epochd/v1/job.pb.h"

namespace epochd::client {

// Reads everything but the content of `experiment` and of `files`. What is
// wrong is reported in `document`. `default_name` stands in for `name`.
v1::JobSpec BuildSpec(Document& document, const std::string& default_name);

// What a reason is called in job files and on the terminal: `worker_lost`.
std::string ReasonName(v1::AttemptReason reason);

}  // namespace epochd::client
