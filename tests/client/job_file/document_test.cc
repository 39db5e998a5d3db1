// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace epochd::client {
namespace {

using ::testing::ElementsAre;

TEST(SplitField, TakesDotsIndicesAndQuotedKeys) {
  EXPECT_THAT(SplitField("a"), ElementsAre("a"));
  EXPECT_THAT(SplitField("a.b.c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(SplitField("a[2].b"), ElementsAre("a", "2", "b"));
  EXPECT_THAT(SplitField("a[2][3]"), ElementsAre("a", "2", "3"));
  EXPECT_THAT(SplitField(R"(a["b.c"].d)"), ElementsAre("a", "b.c", "d"));
  EXPECT_THAT(SplitField(R"(["x]y"])"), ElementsAre("x]y"));
  EXPECT_THAT(SplitField(R"(["q\"]"].z)"), ElementsAre("q\"]", "z"));
  // Broken ones give something, and end.
  EXPECT_THAT(SplitField("a[2"), ElementsAre("a", "[2"));
  EXPECT_THAT(SplitField("a..b"), ElementsAre("a", "", "b"));
  EXPECT_TRUE(SplitField("").empty());
}

TEST(SplitField, UndoesWhatAppendKeyDoes) {
  for (const char* key : {"a", "a.b", "a[0]", "quo\"te", "", "x y", "a-b/c",
                          "back\\slash", "\xc3\xa9"}) {
    const std::string field =
        catalogue::AppendIndex(catalogue::AppendKey("root", key), 7);
    EXPECT_THAT(SplitField(field), ElementsAre("root", key, "7")) << field;
  }
}

TEST(FindField, WalksMappingsAndLists) {
  Json root =
      Json::parse(R"({"a": [{"b": 1}, {"b": 2}], "c.d": 3, "e": null})");
  EXPECT_EQ(*FindField(root, "a[1].b"), 2);
  EXPECT_EQ(*FindField(root, "a.0.b"), 1);
  EXPECT_EQ(*FindField(root, R"(["c.d"])"), 3);
  EXPECT_EQ(FindField(root, ""), &root);
  EXPECT_TRUE(FindField(root, "e")->is_null());
  for (const char* absent : {"x", "a[2]", "a[-1]", "a[1x]", "a.b", "a[0].b.c",
                             "c.d", "e.f", "a[99999999999999999999]"}) {
    EXPECT_EQ(FindField(root, absent), nullptr) << absent;
  }
}

TEST(Locate, FindsTheNearestThingAround) {
  const Positions positions = {{"a", {2, 1}},
                               {"a.b", {3, 3}},
                               {"a.b[1]", {4, 5}},
                               {R"(a["x.y"])", {6, 3}}};
  EXPECT_EQ(Locate(positions, "a.b[1]"), (Position{4, 5}));
  EXPECT_EQ(Locate(positions, "a.b[1].c.d"), (Position{4, 5}));
  EXPECT_EQ(Locate(positions, "a.b[2].c"), (Position{3, 3}));
  EXPECT_EQ(Locate(positions, "a.z"), (Position{2, 1}));
  EXPECT_EQ(Locate(positions, R"(a["x.y"].z)"), (Position{6, 3}));
  EXPECT_EQ(Locate(positions, R"(a["x.z"])"), (Position{2, 1}));
  EXPECT_EQ(Locate(positions, "q"), (Position{1, 1}));
  EXPECT_EQ(Locate(positions, ""), (Position{1, 1}));
}

TEST(ErasePositions, TakesWhatIsBelowAndNothingThatOnlyBeginsAlike) {
  Positions positions = {{"a", {1, 1}},     {"a.b", {2, 1}},
                         {"a.b.c", {3, 1}}, {"a.b[0]", {4, 1}},
                         {"a.bc", {5, 1}},  {"a.b-d", {6, 1}},
                         {"ab", {7, 1}}};
  ErasePositions(positions, "a.b");
  std::vector<std::string> left;
  for (const auto& [field, unused] : positions) left.push_back(field);
  EXPECT_THAT(left, ElementsAre("a", "a.b-d", "a.bc", "ab"));
  ErasePositions(positions, "a");
  EXPECT_EQ(positions.size(), 1u);
  ErasePositions(positions, "nothing");
  EXPECT_EQ(positions.size(), 1u);
}

TEST(Document, ReportsAtTheFieldsPlaceInItsFile) {
  Document document;
  document.positions = {{"a", {2, 1, 1}}};
  document.Report("a.b", "wrong");
  document.Report("", "all of it");
  ASSERT_EQ(document.problems.size(), 2u);
  EXPECT_EQ(document.problems[0].position, (Position{2, 1, 1}));
  EXPECT_EQ(document.problems[0].field, "a.b");
  EXPECT_EQ(document.problems[1].position, (Position{1, 1, 0}));
}

}  // namespace
}  // namespace epochd::client
