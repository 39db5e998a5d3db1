// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/substitute.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/job_file/reader.h"

namespace epochd::client {
namespace {

Document Substituted(const std::string& experiment) {
  Document document = ReadDocument("experiment:\n" + experiment);
  EXPECT_TRUE(document.problems.empty());
  Substitute(document, "experiment");
  return document;
}

std::string Value(const std::string& experiment) {
  return Substituted(experiment).value.at("experiment").dump();
}

std::string Problem(const std::string& experiment) {
  const Document document = Substituted(experiment);
  if (document.problems.empty()) return "";
  return document.problems.front().field + ": " +
         document.problems.front().message;
}

TEST(Substitute, KeepsTheTypeOfAWholeValue) {
  EXPECT_EQ(Value("  a: {b: 3, c: [1, x]}\n  d: ${a.b}\n  e: ${a.c}\n"),
            R"({"a":{"b":3,"c":[1,"x"]},"d":3,"e":[1,"x"]})");
  EXPECT_EQ(Value("  a: [5, 6]\n  b: ${a[1]}\n  c: ${a.0}\n"),
            R"({"a":[5,6],"b":6,"c":5})");
}

TEST(Substitute, WritesValuesOutWithinAText) {
  EXPECT_EQ(Value("  a: 3\n  b: x\n  c: \"run-${a}-${b}!\"\n"),
            R"({"a":3,"b":"x","c":"run-3-x!"})");
}

TEST(Substitute, FollowsChainsAndLeavesReferences) {
  EXPECT_EQ(Value("  a: ${b}\n  b: ${c}\n  c: {d: \"${ref:model}\"}\n"),
            R"({"a":{"d":"${ref:model}"},"b":{"d":"${ref:model}"},)"
            R"("c":{"d":"${ref:model}"}})");
}

TEST(Substitute, RefusesWhatDoesNotResolve) {
  struct Case {
    std::string experiment;
    std::string problem;
  };
  const std::vector<Case> cases = {
      {"  a: ${b}\n  b: ${a}\n",
       "experiment.a: ${b} leads back to itself: b -> a -> b"},
      {"  a: {b: \"${a}\"}\n",
       "experiment.a.b.b: ${a} leads back to itself: a -> a"},
      {"  a: ${data.trian}\n  data: {train: 1}\n",
       "experiment.a: ${data.trian} names nothing in experiment, did you mean "
       "'train'?"},
      {"  a: ${}\n", "experiment.a: ${} names nothing in experiment"},
      {"  a: \"x ${b\"\n", "experiment.a: '${' without its '}'"},
      {"  a: \"x ${b}\"\n  b: [1]\n",
       "experiment.a: ${b} is no single value and must be the whole text"},
      {"  a: \"x ${ref:b}\"\n",
       "experiment.a: ${ref:b} stands for an object and must be the whole "
       "value"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Problem(c.experiment), c.problem) << c.experiment;
  }
}

TEST(Substitute, EndsAnExplosion) {
  std::string experiment = "  a0: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string reference = "${a" + std::to_string(i - 1) + "}";
    experiment += "  a" + std::to_string(i) + ": [\"" + reference + "\", \"" +
                  reference + "\", \"" + reference + "\", \"" + reference +
                  "\"]\n";
  }
  EXPECT_NE(Problem(experiment).find("substitution makes more than 10000"),
            std::string::npos);
}

TEST(Substitute, PointsCopiesAtTheirOriginal) {
  const Document document =
      Substituted("  a: {b: [{c: 1}]}\n  d: ${a.b}\n  e: ${d[0]}\n");
  EXPECT_EQ(Locate(document.positions, "experiment.d"), (Position{3, 3}));
  EXPECT_EQ(Locate(document.positions, "experiment.d[0].c"),
            Locate(document.positions, "experiment.a.b[0].c"));
  EXPECT_EQ(Locate(document.positions, "experiment.a.b[0].c").line, 2);
}

}  // namespace
}  // namespace epochd::client
