// SPDX-License-Identifier: Apache-2.0
//
// The built-in page: what runs, what waits and why, and on which workers. One
// HTML document without script, and its style sheet. Every text is escaped.
// Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "server/control/views.h"

namespace epochd::web {

struct StatusSnapshot {
  std::string version;
  std::string cluster_id;
  absl::Time now;
  control::Stats stats;
  std::vector<fleet::WorkerView> workers;
  // Newest first.
  std::vector<control::JobView> jobs;
};

std::string RenderStatusPage(const StatusSnapshot& snapshot);
std::string StatusPageStyle();

// Text as it may stand in HTML, in attributes too; control characters become
// spaces, and overlong text is cut.
std::string EscapeHtml(std::string_view text);

}  // namespace epochd::web
