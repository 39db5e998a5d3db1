// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/scalar.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace epochd::client {
namespace {

TEST(Scalar, FollowsTheCoreSchema) {
  struct Case {
    std::string text;
    std::string json;
  };
  const std::vector<Case> cases = {
      {"", "null"},
      {"~", "null"},
      {"null", "null"},
      {"nUll", "\"nUll\""},
      {"true", "true"},
      {"FALSE", "false"},
      {"yes", "\"yes\""},
      {"on", "\"on\""},
      {"no", "\"no\""},
      {"0", "0"},
      {"-0", "0"},
      {"+12", "12"},
      {"007", "7"},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"1_000", "\"1_000\""},
      {"1:30", "\"1:30\""},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"5.", "5.0"},
      {"-2e-4", "-0.0002"},
      {"2.0E+2", "200.0"},
      {"1e", "\"1e\""},
      {".", "\".\""},
      {"-", "\"-\""},
      {"1.2.3", "\"1.2.3\""},
      {"10m", "\"10m\""},
      {"fp32", "\"fp32\""},
  };
  for (const Case& c : cases) {
    const Scalar scalar = ResolvePlain(c.text);
    EXPECT_EQ(scalar.problem, "") << c.text;
    EXPECT_EQ(scalar.value.dump(), c.json) << c.text;
  }
}

TEST(Scalar, RefusesNumbersThatNothingHolds) {
  struct Case {
    std::string text;
    std::string problem;
  };
  const std::vector<Case> cases = {
      {"18446744073709551616",
       "integer out of range '18446744073709551616', 64 bits are accepted"},
      {"-9223372036854775809",
       "integer out of range '-9223372036854775809', 64 bits are accepted"},
      {".inf", "number that is not finite '.inf', finite ones are accepted"},
      {"-.INF", "number that is not finite '-.INF', finite ones are accepted"},
      {".nan", "number that is not finite '.nan', finite ones are accepted"},
      {"1e999", "number out of range '1e999', those of a double are accepted"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ResolvePlain(c.text).problem, c.problem) << c.text;
  }
}

}  // namespace
}  // namespace epochd::client
