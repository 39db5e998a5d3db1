// SPDX-License-Identifier: Apache-2.0
//
// What is printed as YAML or JSON is read back as the same: job files that
// --resolved prints are submitted again.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "client/epochctl/output.h"
#include "client/job_file/reader.h"

namespace epochd::epochctl {
namespace {

using client::Json;

Json ReadBack(const Json& value, Format format) {
  const std::string text = Render(value, format);
  const client::Document document = client::ReadDocument(text);
  EXPECT_TRUE(document.problems.empty())
      << text << "\n"
      << (document.problems.empty() ? "" : document.problems[0].message);
  return document.value;
}

const std::vector<std::string>& TrickyTexts() {
  static const std::vector<std::string> kTexts = {
      "",
      " ",
      "a",
      "true",
      "True",
      "null",
      "~",
      "no",
      "on",
      "1",
      "-1",
      "+1",
      "1.0",
      "1e3",
      ".5",
      "0x1F",
      "0o17",
      "1_000",
      ".inf",
      ".nan",
      "- a",
      "-",
      "? a",
      ": a",
      "a: b",
      "a:",
      "a #b",
      "#a",
      "[a",
      "{a}",
      "a, b",
      "&a",
      "*a",
      "!tag",
      "%a",
      "@a",
      "`a",
      "|",
      ">",
      "'",
      "\"",
      "a'b\"c",
      "\\",
      "a\\nb",
      "line\nbreak",
      "tab\there",
      "\r\n",
      " lead",
      "trail ",
      "${a.b}",
      "${ref:x}",
      "---",
      "...",
      "<<",
      "=",
      "\xc3\xa9",
      "\xe6\x97\xa5\xe6\x9c\xac",
      "\xf0\x9f\x98\x80",
      "2026-01-31",
      "12:30:45",
      "job/1/best",
      "/a/b c",
      "1 epoch",
  };
  return kTexts;
}

TEST(YamlRoundTrip, KeepsEveryText) {
  for (const std::string& text : TrickyTexts()) {
    for (const Json& value : {Json{{"k", text}}, Json{{"k", {text, text}}},
                              Json{{"k", {{"l", {{"m", text}}}}}}}) {
      EXPECT_EQ(ReadBack(value, Format::kYaml), value) << text;
      EXPECT_EQ(ReadBack(value, Format::kJson), value) << text;
    }
  }
}

TEST(YamlRoundTrip, KeepsEveryKey) {
  for (const std::string& text : TrickyTexts()) {
    // A merge key is refused, whoever writes it.
    if (text == "<<") continue;
    const Json value = Json::object({{text, 1}, {"other", 2}});
    EXPECT_EQ(ReadBack(value, Format::kYaml), value) << text;
  }
}

TEST(YamlRoundTrip, KeepsNumbersAndTheirTypes) {
  for (const Json& number :
       {Json(0), Json(-7), Json(INT64_MAX), Json(INT64_MIN), Json(0.0),
        Json(1.0), Json(-0.5), Json(1e300), Json(5e-324), Json(0.1),
        Json(1.0 / 3), Json(2e-4), Json(123456789.123), Json(1e22)}) {
    const Json value = {{"n", number}};
    for (const Format format : {Format::kYaml, Format::kJson}) {
      const Json back = ReadBack(value, format);
      EXPECT_EQ(back, value);
      EXPECT_EQ(back["n"].is_number_float(), number.is_number_float())
          << number;
    }
  }
}

class Grower {
 public:
  explicit Grower(unsigned seed) : random_(seed) {}

  Json Value(int depth) {
    switch (Below(depth > 3 ? 5 : 7)) {
      case 0:
        return static_cast<int64_t>(random_());
      case 1:
        return std::ldexp(static_cast<double>(Below(1 << 20)) - 1000,
                          static_cast<int>(Below(60)) - 30);
      case 2:
        return Below(2) == 0;
      case 3:
        return nullptr;
      case 4:
        return TrickyTexts()[Below(TrickyTexts().size())];
      case 5: {
        Json list = Json::array();
        for (size_t i = Below(5); i > 0; --i) list.push_back(Value(depth + 1));
        return list;
      }
      default:
        return Mapping(depth + 1);
    }
  }

  Json Mapping(int depth) {
    Json mapping = Json::object();
    for (size_t i = Below(5); i > 0; --i) {
      mapping["k" + std::to_string(Below(100))] = Value(depth);
    }
    return mapping;
  }

 private:
  size_t Below(size_t bound) { return random_() % bound; }
  std::mt19937_64 random_;
};

TEST(YamlRoundTrip, KeepsWholeTrees) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Json value = Grower(seed).Mapping(0);
    value["never"] = "empty";
    ASSERT_EQ(ReadBack(value, Format::kYaml), value) << "seed " << seed;
    ASSERT_EQ(ReadBack(value, Format::kJson), value) << "seed " << seed;
  }
}

}  // namespace
}  // namespace epochd::epochctl
