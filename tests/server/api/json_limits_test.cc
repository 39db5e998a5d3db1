// SPDX-License-Identifier: Apache-2.0
#include "server/api/json_limits.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace epochd::api {
namespace {

std::vector<std::string> Refusals(const std::string& text) {
  std::vector<wire::FieldViolation> violations;
  const auto json = ParseLimitedJson(text, "experiment", {}, violations);
  EXPECT_EQ(json.has_value(), violations.empty()) << text.substr(0, 100);
  std::vector<std::string> lines;
  for (const auto& violation : violations) {
    lines.push_back(absl::StrCat(violation.field, ": ", violation.description));
  }
  return lines;
}

std::string Nested(int levels) {
  return "{\"a\":" + std::string(static_cast<size_t>(levels), '[') +
         std::string(static_cast<size_t>(levels), ']') + "}";
}

TEST(JsonLimitsTest, KeepsValuesAndOrder) {
  std::vector<wire::FieldViolation> violations;
  const auto json = ParseLimitedJson(R"({"b": 1, "a": [true, null, 0.5, "x"]})",
                                     "experiment", {}, violations);
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->dump(), R"({"b":1,"a":[true,null,0.5,"x"]})");
}

TEST(JsonLimitsTest, RefusesEveryDoubledKeyWithItsPath) {
  const auto lines =
      Refusals(R"({"a": {"b": 1, "b": 2, "c": [{"d": 1, "d": 1}]},
                                  "x.y": 1, "x.y": 2})");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "experiment.a.b: key 'b' is given twice");
  EXPECT_EQ(lines[1], "experiment.a.c[0].d: key 'd' is given twice");
  EXPECT_EQ(lines[2], "experiment[\"x.y\"]: key 'x.y' is given twice");
}

TEST(JsonLimitsTest, RefusesDepthBeyond64) {
  EXPECT_TRUE(Refusals(Nested(63)).empty());
  EXPECT_EQ(Refusals(Nested(64)),
            std::vector<std::string>{
                "experiment: nested too deep, at most 64 levels"});
  // Deep enough to overflow the stack of whoever would copy the tree.
  EXPECT_EQ(Refusals(Nested(100000)).size(), 1u);
}

TEST(JsonLimitsTest, RefusesTooManyValuesAndKeys) {
  std::string list = "[0";
  for (int i = 0; i < 9997; ++i) list += ",0";
  EXPECT_TRUE(Refusals("{\"a\":" + list + "]}").empty());
  EXPECT_EQ(
      Refusals("{\"a\":" + list + ",0]}"),
      std::vector<std::string>{"experiment: too many values, at most 10000"});
  std::string object = "{\"k\": 0";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&object, ",\"k", i, "\":0");
  EXPECT_EQ(
      Refusals("{\"a\":" + object + "}}"),
      std::vector<std::string>{"experiment.a: too many keys, at most 1000"});
}

TEST(JsonLimitsTest, RefusesWhatIsNoJsonObject) {
  for (const std::string text : {"", "{", "{\"a\": }", "{} x", "{'a': 1}",
                                 "{\"a\": NaN}", "{\"a\": 01}"}) {
    const auto lines = Refusals(text);
    ASSERT_EQ(lines.size(), 1u) << text;
    EXPECT_NE(lines[0].find("no valid JSON at byte"), std::string::npos)
        << lines[0];
  }
  EXPECT_EQ(Refusals("[1]"),
            std::vector<std::string>{
                "experiment: no mapping, write 'key: value' pairs"});
  EXPECT_EQ(Refusals("{\"a\": \"\xff\"}"),
            std::vector<std::string>{"experiment: no valid UTF-8"});
  const auto huge = Refusals("{\"lr\": 1e999}");
  ASSERT_EQ(huge.size(), 1u);
  EXPECT_EQ(huge[0].rfind("experiment.lr: number out of range", 0), 0u)
      << huge[0];
}

}  // namespace
}  // namespace epochd::api
