// SPDX-License-Identifier: Apache-2.0
//
// ListJobs: filters, paging and field masks. Stateless.
#pragma once

#include "absl/status/status.h"
#include "epochd/v1/job.pb.h"
#include "server/control/controller.h"

namespace epochd::api {

absl::Status ListJobPage(const control::Controller& controller,
                         const v1::ListJobsRequest& request,
                         v1::ListJobsResponse& response);

}  // namespace epochd::api
