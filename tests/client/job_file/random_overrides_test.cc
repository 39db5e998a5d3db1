// SPDX-License-Identifier: Apache-2.0
//
// Whatever --set is given, it changes one thing or says what is wrong with it.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "client/job_file/overrides.h"
#include "client/job_file/reader.h"

namespace epochd::client {
namespace {

constexpr const char* kFile = R"(name: a
resources: {replicas: 2, nodes: {labels: {zone: b}}}
experiment:
  seed: 1
  hooks: [{type: A, list: [1, [2, 3]]}, {type: B}]
  "a.b": {c: null}
)";

TEST(RandomOverrides, ChangeSomethingOrSayWhatIsWrong) {
  std::mt19937 random(11);
  const std::vector<std::string> parts = {
      "name",  "experiment", "seed", "hooks", "list", "resources", "nodes",
      "x",     ".",          ".",    "[0]",   "[1]",  "[9]",       "[",
      "]",     "0",          "1",    "-1",    "",     "[\"a.b\"]", "\"",
      "\\",    "=",          "=",    "=null", "=5",   "=[1,2]",    "={a: 1}",
      "='t'",  "=[",         "=&a",  "=\n",   " ",    "${a}",      "\xff",
      "=1\n2", "labels",     "c"};
  int num_changed = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string text;
    for (auto i = 1 + random() % 8; i > 0; --i) {
      text += parts[random() % parts.size()];
    }
    Document document = ReadDocument(kFile);
    const Json before = document.value;
    ApplyOverride(document, text);
    ASSERT_LE(document.problems.size(), 1u) << text;
    if (document.problems.empty()) {
      num_changed += document.value != before;
      ASSERT_TRUE(document.value.is_object()) << text;
    } else {
      EXPECT_EQ(document.problems[0].message.find("--set "), 0u) << text;
      EXPECT_EQ(document.problems[0].position.line, 0);
      ASSERT_EQ(document.value, before) << text;
    }
  }
  EXPECT_GT(num_changed, 1000);
}

}  // namespace
}  // namespace epochd::client
