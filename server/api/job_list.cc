// SPDX-License-Identifier: Apache-2.0
#include "server/api/job_list.h"

#include <google/protobuf/util/field_mask_util.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status.h"
#include "server/api/convert_job.h"
#include "server/api/field_rules.h"
#include "server/api/page_token.h"

namespace epochd::api {
namespace {

using google::protobuf::FieldMask;
using google::protobuf::util::FieldMaskUtil;

// Well below what clients take in one message.
constexpr size_t kMaxListBytes = 2 << 20;

// What decides which jobs are listed, for the page token.
std::string QueryText(const store::ListQuery& query) {
  std::string text = absl::StrCat("jobs\n", query.project, "\n");
  for (const job::JobState state : query.states) {
    absl::StrAppend(&text, static_cast<int>(state), ",");
  }
  for (const auto& [key, value] : query.labels) {
    absl::StrAppend(&text, "\n", key, "=", value);
  }
  return text;
}

absl::Status CheckRequest(const v1::ListJobsRequest& request) {
  FieldRules rules;
  for (const int state : request.states()) {
    if (state == v1::JOB_STATE_UNSPECIFIED || !v1::JobState_IsValid(state)) {
      rules.Add("states", absl::StrCat("unknown state '", state,
                                       "', those of JobState are accepted"));
    }
  }
  for (const std::string& path : request.read_mask().paths()) {
    if (!FieldMaskUtil::IsValidPath<v1::Job>(path)) {
      rules.Add("read_mask", absl::StrCat("unknown field ", Quote(path),
                                          ", fields of Job are accepted"));
    }
  }
  if (rules.violations().empty()) return absl::OkStatus();
  return wire::BadRequest(rules.violations());
}

void Trim(const FieldMask& mask, v1::Job& job) {
  if (mask.paths().empty()) {
    job.mutable_spec()->clear_experiment_json();
  } else {
    FieldMaskUtil::TrimMessage(mask, &job);
  }
}

}  // namespace

absl::Status ListJobPage(const control::Controller& controller,
                         const v1::ListJobsRequest& request,
                         v1::ListJobsResponse& response) {
  const absl::Status valid = CheckRequest(request);
  if (!valid.ok()) return valid;
  const auto size = PageSize(request.page_size(), 50, 1000);
  if (!size.ok()) return size.status();
  store::ListQuery query;
  query.limit = *size;
  query.project = request.project();
  query.labels = {request.labels().begin(), request.labels().end()};
  for (const int state : request.states()) {
    query.states.push_back(static_cast<job::JobState>(state));
  }
  const std::string query_text = QueryText(query);
  if (!request.page_token().empty()) {
    const auto position = ReadPageToken(request.page_token(), query_text);
    if (!position.ok()) return position.status();
    int64_t before = 0;
    // Cannot fail: the token's mark matched.
    if (absl::SimpleAtoi(*position, &before)) query.before = before;
  }
  const auto page = controller.List(query);
  if (!page.ok()) return page.status();
  auto next = page->next_before;
  size_t num_bytes = 0;
  for (const control::JobView& view : page->jobs) {
    v1::Job job = ToProto(view);
    Trim(request.read_mask(), job);
    num_bytes += job.ByteSizeLong();
    if (num_bytes > kMaxListBytes && response.jobs_size() > 0) {
      next = view.job->submit_number + 1;
      break;
    }
    *response.add_jobs() = std::move(job);
  }
  if (next) {
    response.set_next_page_token(
        MakePageToken(absl::StrCat(*next), query_text));
  }
  return absl::OkStatus();
}

}  // namespace epochd::api
