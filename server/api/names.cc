// SPDX-License-Identifier: Apache-2.0
#include "server/api/names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/wire/status.h"
#include "server/api/field_rules.h"

namespace epochd::api {
namespace {

absl::Status Bad(const char* field, const std::string& value,
                 const char* form) {
  return wire::BadRequest({{field, absl::StrCat("bad name ", Quote(value), ", ",
                                                form, " is accepted")}});
}

}  // namespace

absl::StatusOr<job::JobId> ParseJobName(const std::string& name) {
  absl::string_view id = name;
  if (absl::ConsumePrefix(&id, "jobs/")) {
    auto parsed = job::JobId::Parse({id.data(), id.size()});
    if (parsed.ok()) return parsed;
  }
  return Bad("name", name,
             "jobs/{job} with the 26 characters of an id, as 'epochctl ps' "
             "shows it,");
}

absl::StatusOr<job::WorkerId> ParseWorkerName(const std::string& name) {
  absl::string_view id = name;
  if (absl::ConsumePrefix(&id, "workers/") && IsName(std::string(id))) {
    return job::WorkerId(std::string(id));
  }
  return Bad("name", name, "workers/{worker}");
}

absl::StatusOr<job::WorkerId> ParseWorker(const std::string& worker) {
  if (IsName(worker)) return job::WorkerId(worker);
  return Bad("worker", worker, "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?");
}

absl::StatusOr<job::Incarnation> ParseIncarnation(const std::string& text) {
  const bool visible = std::all_of(text.begin(), text.end(),
                                   [](char c) { return c > ' ' && c < 127; });
  if (!text.empty() && text.size() <= 128 && visible) {
    return job::Incarnation(text);
  }
  return Bad("incarnation", text, "1 to 128 visible characters");
}

absl::StatusOr<job::AttemptId> ParseAttemptName(const std::string& name) {
  auto parsed = job::AttemptId::Parse(name);
  if (parsed.ok()) return parsed;
  return Bad("attempt", name, "jobs/{job}/attempts/{n}");
}

}  // namespace epochd::api
