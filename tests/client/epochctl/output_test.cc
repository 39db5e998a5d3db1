// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/output.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "client/job_file/reader.h"
#include "epochd/v1/job.pb.h"

namespace epochd::epochctl {
namespace {

TEST(Output, WritesMessagesAsProtobufMapsThem) {
  v1::Job job;
  job.set_name("jobs/a");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.mutable_create_time()->set_seconds(1000000);
  job.mutable_spec()->set_display_name("no");
  job.set_last_sequence(7);
  EXPECT_EQ(Render(ToJson(job), Format::kJson),
            "{\n"
            "  \"name\": \"jobs/a\",\n"
            "  \"spec\": {\n"
            "    \"display_name\": \"no\"\n"
            "  },\n"
            "  \"state\": \"JOB_STATE_RUNNING\",\n"
            "  \"create_time\": \"1970-01-12T13:46:40Z\",\n"
            "  \"last_sequence\": \"7\"\n"
            "}\n");
}

TEST(Output, QuotesInYamlWhatWouldBeReadAsSomethingElse) {
  const nlohmann::ordered_json json = {{"a", "12"},     {"b", 12},
                                       {"c", "true"},   {"d", nullptr},
                                       {"e", {1, 2.5}}, {"f", "text"}};
  EXPECT_EQ(Render(json, Format::kYaml),
            "a: \"12\"\n"
            "b: 12\n"
            "c: \"true\"\n"
            "d: ~\n"
            "e:\n"
            "  - 1\n"
            "  - 2.5\n"
            "f: text\n");
}

TEST(Output, QuotesKeysOfYamlAsItDoesTexts) {
  EXPECT_EQ(Render({{"null", 1}, {"1", 2}, {"yes", 3}}, Format::kYaml),
            "\"null\": 1\n\"1\": 2\nyes: 3\n");
}

class AnyJson {
 public:
  explicit AnyJson(unsigned seed) : random_(seed) {}

  nlohmann::ordered_json Value(int depth = 0) {
    switch (random_() % (depth < 4 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return random_() % 2 == 0;
      case 2:
        return static_cast<int64_t>(random_()) - (int64_t{1} << 31);
      case 3:
        return std::ldexp(static_cast<double>(random_()) - 2e9,
                          static_cast<int>(random_() % 200) - 100);
      case 4:
      case 5:
        return Text();
      case 6: {
        auto list = nlohmann::ordered_json::array();
        for (auto i = random_() % 4; i > 0; --i)
          list.push_back(Value(depth + 1));
        return list;
      }
      default: {
        auto map = nlohmann::ordered_json::object();
        for (auto i = random_() % 4; i > 0; --i) map[Key()] = Value(depth + 1);
        return map;
      }
    }
  }
  // Not the two that a job file has no place for.
  std::string Key() {
    std::string key = Text();
    if (key == "<<" || key.find('\0') != std::string::npos) key = "k";
    return key;
  }

 private:
  std::string Text() {
    static const std::vector<std::string> kParts = {
        "null",   "~",      "true", "No",  "1",    "-1",   "0x1f", "1e5",
        ".inf",   "- ",     "? ",   ": ",  " #",   " ",    "\n",   "\t",
        "\r",     "\"",     "'",    "\\",  "{",    "}",    "[",    "]",
        ",",      "&a",     "*a",   "!t",  "|",    ">",    "%",    "@",
        "`",      "=",      "---",  "...", "\x01", "\x7f", "é",    "日本",
        "\u0085", "\u2028", "x",    "<<",  "😀"};
    std::string text;
    for (auto i = random_() % 4; i > 0; --i) {
      text += kParts[random_() % kParts.size()];
    }
    return text;
  }

  std::mt19937 random_;
};

TEST(Output, WhatYamlSaysIsReadBackAsItWas) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    AnyJson any(seed);
    const nlohmann::ordered_json json = {{any.Key(), any.Value()},
                                         {"b", any.Value()}};
    const std::string yaml = Render(json, Format::kYaml);
    const client::Document document = client::ReadDocument(yaml);
    ASSERT_TRUE(document.problems.empty())
        << seed << ": " << document.problems[0].message << " in\n"
        << yaml;
    ASSERT_EQ(document.value.dump(), json.dump()) << seed << ":\n" << yaml;
  }
}

}  // namespace
}  // namespace epochd::epochctl
