// SPDX-License-Identifier: Apache-2.0
#include "server/web/routes.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace epochd::web {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

Response Plain(int status, const std::string& text) {
  return {status, Response().content_type, absl::StrCat(text, "\n")};
}

Response Health(const Sources& sources) {
  // Shared: the answer may come after nobody waits for it.
  auto answered = std::make_shared<absl::Notification>();
  sources.ask_control([answered] { answered->Notify(); });
  if (answered->WaitForNotificationWithTimeout(sources.deadline)) {
    return Plain(200, "ok");
  }
  return Plain(503, absl::StrCat("the control thread did not answer within ",
                                 absl::FormatDuration(sources.deadline)));
}

}  // namespace

Routes MakeRoutes(Sources sources) {
  const auto shared = std::make_shared<const Sources>(std::move(sources));
  return {
      {"/",
       [shared] {
         return Response{200, "text/html; charset=utf-8",
                         RenderStatusPage(shared->status())};
       }},
      {"/style.css",
       [] {
         return Response{200, "text/css; charset=utf-8", StatusPageStyle()};
       }},
      {"/metrics",
       [shared] {
         return Response{200, kMetricsType, shared->metrics()};
       }},
      {"/healthz", [shared] { return Health(*shared); }},
      {"/readyz",
       [shared] {
         const absl::Status status = shared->ready();
         return status.ok() ? Plain(200, "ready")
                            : Plain(503, std::string(status.message()));
       }},
  };
}

}  // namespace epochd::web
