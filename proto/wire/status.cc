// SPDX-License-Identifier: Apache-2.0
#include "proto/wire/status.h"

#include <google/protobuf/any.pb.h>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "proto/wire/time.h"
#include "text/utf8.h"

namespace epochd::wire {
namespace {

constexpr char kTypePrefix[] = "type.googleapis.com/";
// Leaves room for base64 and the other trailers below 8 KiB.
constexpr size_t kMaxDetailBytes = 5500;
constexpr size_t kMaxMessageBytes = 1000;

template <typename Detail>
std::string TypeUrl() {
  return kTypePrefix + Detail::descriptor()->full_name();
}

template <typename Detail>
void SetDetail(absl::Status& status, const Detail& detail) {
  status.SetPayload(TypeUrl<Detail>(), absl::Cord(detail.SerializeAsString()));
}

template <typename Detail>
std::optional<Detail> GetDetail(const absl::Status& status) {
  const auto payload = status.GetPayload(TypeUrl<Detail>());
  Detail detail;
  if (!payload || !detail.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return detail;
}

// Cuts at a character boundary; makes text that is not UTF-8 plain ASCII, since
// protobuf would refuse it.
std::string Clean(std::string message, size_t max_bytes) {
  if (message.size() > max_bytes) {
    size_t end = max_bytes;
    while (end > 0 &&
           (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) {
      --end;
    }
    message.resize(end);
    message += "...";
  }
  if (!text::IsValidUtf8(message)) {
    for (char& c : message) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
  }
  return message;
}

}  // namespace

absl::Status BadRequest(const std::vector<FieldViolation>& violations) {
  google::rpc::BadRequest detail;
  size_t num_told = 0;
  size_t num_bytes = 0;
  for (const FieldViolation& violation : violations) {
    const std::string field = Clean(violation.field, 300);
    const std::string description = Clean(violation.description, 500);
    num_bytes += field.size() + description.size() + 8;
    if (num_bytes > kMaxDetailBytes) break;
    auto* out = detail.add_field_violations();
    out->set_field(field);
    out->set_description(description);
    ++num_told;
  }
  const size_t num_untold = violations.size() - num_told;
  if (num_untold > 0) {
    auto* out = detail.add_field_violations();
    out->set_description(
        absl::StrCat(num_untold, " more violations, ValidateJob lists all"));
  }
  std::string message = "bad request";
  if (!violations.empty()) {
    message = violations[0].field.empty()
                  ? violations[0].description
                  : absl::StrCat(violations[0].field, ": ",
                                 violations[0].description);
    if (violations.size() > 1) {
      message = absl::StrCat(Clean(message, kMaxMessageBytes), " (and ",
                             violations.size() - 1, " more)");
    }
  }
  absl::Status status = absl::InvalidArgumentError(message);
  SetDetail(status, detail);
  return status;
}

std::vector<FieldViolation> Violations(const absl::Status& status) {
  std::vector<FieldViolation> violations;
  if (const auto detail = GetDetail<google::rpc::BadRequest>(status)) {
    for (const auto& violation : detail->field_violations()) {
      violations.push_back({violation.field(), violation.description()});
    }
  }
  return violations;
}

absl::Status WithReason(absl::Status status, const std::string& reason,
                        const std::map<std::string, std::string>& metadata) {
  google::rpc::ErrorInfo detail;
  detail.set_reason(reason);
  detail.set_domain(kErrorDomain);
  detail.mutable_metadata()->insert(metadata.begin(), metadata.end());
  SetDetail(status, detail);
  return status;
}

std::string Reason(const absl::Status& status) {
  const auto detail = GetDetail<google::rpc::ErrorInfo>(status);
  return detail && detail->domain() == kErrorDomain ? detail->reason() : "";
}

absl::Status WithRetryDelay(absl::Status status, absl::Duration delay) {
  google::rpc::RetryInfo detail;
  *detail.mutable_retry_delay() = ToProto(delay);
  SetDetail(status, detail);
  return status;
}

std::optional<absl::Duration> RetryDelay(const absl::Status& status) {
  const auto detail = GetDetail<google::rpc::RetryInfo>(status);
  if (!detail) return std::nullopt;
  return FromProto(detail->retry_delay());
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const bool may_retry =
      absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
  if (may_retry && !RetryDelay(status)) {
    return ToGrpc(WithRetryDelay(status, kRetryDelay));
  }
  google::rpc::Status wire;
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(Clean(std::string(status.message()), kMaxMessageBytes));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& value) {
    if (!absl::StartsWith(url, kTypePrefix)) return;
    auto* detail = wire.add_details();
    detail->set_type_url(std::string(url));
    detail->set_value(std::string(value));
  });
  return grpc::Status(
      static_cast<grpc::StatusCode>(status.code()), wire.message(),
      wire.details().empty() ? std::string() : wire.SerializeAsString());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status out(static_cast<absl::StatusCode>(status.error_code()),
                   status.error_message());
  google::rpc::Status wire;
  if (wire.ParseFromString(status.error_details())) {
    for (const auto& detail : wire.details()) {
      out.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return out;
}

}  // namespace epochd::wire
