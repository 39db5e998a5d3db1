// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's paths: / and /style.css, /metrics, /healthz, /readyz.
#pragma once

#include <functional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/web/http_server.h"
#include "server/web/status_page.h"

namespace epochd::web {

// All are called on the server's threads, several at a time, and have to
// outlive the server.
struct Sources {
  std::function<std::string()> metrics;
  std::function<StatusSnapshot()> status;
  // Makes the control thread call the function it is given, in any way. Not
  // answered within `deadline`: the process is not alive.
  std::function<void(absl::AnyInvocable<void()>)> ask_control;
  // OK once the process takes requests, and while it has room to keep them.
  std::function<absl::Status()> ready;
  absl::Duration deadline = absl::Seconds(5);
};

Routes MakeRoutes(Sources sources);

}  // namespace epochd::web
