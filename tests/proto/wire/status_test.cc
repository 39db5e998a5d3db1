// SPDX-License-Identifier: Apache-2.0
#include "proto/wire/status.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace epochd::wire {
namespace {

TEST(StatusTest, EveryCodeSurvivesTheWire) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status sent(static_cast<absl::StatusCode>(code), "because");
    const grpc::Status wire = ToGrpc(sent);
    EXPECT_EQ(static_cast<int>(wire.error_code()), code);
    const absl::Status got = FromGrpc(wire);
    EXPECT_EQ(got.code(), sent.code());
    EXPECT_EQ(got.message(), sent.message());
  }
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(StatusTest, DetailsSurviveTheWire) {
  absl::Status sent = BadRequest({{"resources.replicas", "too many"}});
  sent = WithReason(sent, "SPEC_INVALID", {{"job", "jobs/a"}});
  sent = WithRetryDelay(sent, absl::Milliseconds(1500));
  const absl::Status got = FromGrpc(ToGrpc(sent));
  EXPECT_EQ(got, sent);
  ASSERT_EQ(Violations(got).size(), 1u);
  EXPECT_EQ(Violations(got)[0].field, "resources.replicas");
  EXPECT_EQ(Violations(got)[0].description, "too many");
  EXPECT_EQ(Reason(got), "SPEC_INVALID");
  EXPECT_EQ(RetryDelay(got), absl::Milliseconds(1500));
}

TEST(StatusTest, WhatMayBeTriedAgainSaysWhen) {
  for (const absl::Status& later : {absl::UnavailableError("stopping"),
                                    absl::ResourceExhaustedError("full")}) {
    EXPECT_EQ(RetryDelay(FromGrpc(ToGrpc(later))), kRetryDelay);
  }
  EXPECT_EQ(RetryDelay(FromGrpc(ToGrpc(absl::AbortedError("stale")))),
            std::nullopt);
}

TEST(StatusTest, AStatusWithoutDetailsHasNone) {
  const absl::Status plain = absl::NotFoundError("x");
  EXPECT_TRUE(Violations(plain).empty());
  EXPECT_EQ(Reason(plain), "");
  EXPECT_EQ(RetryDelay(plain), std::nullopt);
  EXPECT_TRUE(ToGrpc(plain).error_details().empty());
}

// The bytes a client of another language reads: google.rpc.Status with an Any
// of google.rpc.BadRequest, fields 1 and 2.
TEST(StatusTest, WireFormIsThatOfGoogleRpc) {
  google::rpc::Status status;
  const std::string details = ToGrpc(BadRequest({{"f", "d"}})).error_details();
  ASSERT_TRUE(status.ParseFromString(details));
  EXPECT_EQ(status.code(), 3);
  ASSERT_EQ(status.details_size(), 1);
  EXPECT_EQ(status.details(0).type_url(),
            "type.googleapis.com/google.rpc.BadRequest");
  EXPECT_EQ(status.details(0).value(), std::string("\x0a\x06\x0a\x01"
                                                   "f\x12\x01"
                                                   "d"));
}

TEST(StatusTest, MessageNamesTheFirstViolationAndCountsTheRest) {
  EXPECT_EQ(BadRequest({{"a", "bad"}}).message(), "a: bad");
  EXPECT_EQ(BadRequest({{"a", "bad"}, {"b", "bad"}, {"c", "bad"}}).message(),
            "a: bad (and 2 more)");
}

TEST(StatusTest, ManyViolationsStayWithinAForeignClientsTrailers) {
  std::vector<FieldViolation> violations;
  for (int i = 0; i < 1000; ++i) {
    violations.push_back({absl::StrCat("field", i), "not accepted"});
  }
  const grpc::Status wire = ToGrpc(BadRequest(violations));
  EXPECT_LT(wire.error_details().size() * 4 / 3, 8000u);
  const auto told = Violations(FromGrpc(wire));
  ASSERT_GT(told.size(), 100u);
  EXPECT_EQ(told.back().field, "");
  EXPECT_EQ(told.back().description,
            absl::StrCat(1000 - (told.size() - 1),
                         " more violations, ValidateJob lists all"));
}

TEST(StatusTest, TextThatIsNotUtf8IsMadeSo) {
  const grpc::Status wire = ToGrpc(BadRequest({{"name", "bad \xff byte"}}));
  EXPECT_EQ(Violations(FromGrpc(wire))[0].description, "bad ? byte");
}

TEST(StatusTest, LongTextIsCutBetweenCharacters) {
  std::string description;
  for (int i = 0; i < 400; ++i) description += "\xc3\xb6";
  description.insert(0, "x");
  const auto told = Violations(BadRequest({{"name", description}}));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].description.size(), 499u + 3u);
}

TEST(StatusTest, DetailsThatAreNoStatusAreIgnored) {
  const absl::Status got = FromGrpc(
      grpc::Status(grpc::StatusCode::INTERNAL, "broken", "\xff\xff\xff"));
  EXPECT_EQ(got, absl::InternalError("broken"));
}

}  // namespace
}  // namespace epochd::wire
