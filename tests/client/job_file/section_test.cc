// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/job_file/reader.h"

namespace epochd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SectionTest : public testing::Test {
 protected:
  // A section read from YAML.
  Section& Read(const std::string& yaml) {
    document_ = ReadDocument("s:\n" + yaml);
    EXPECT_THAT(document_.problems, IsEmpty()) << yaml;
    section_.emplace(document_, "s");
    return *section_;
  }

  std::vector<std::string> Problems() const {
    std::vector<std::string> lines;
    for (const Problem& problem : document_.problems) {
      lines.push_back(std::to_string(problem.position.line) + " " +
                      problem.field + ": " + problem.message);
    }
    return lines;
  }

 private:
  Document document_;
  std::optional<Section> section_;
};

TEST_F(SectionTest, GivesWhatIsThereInTheTypeAskedFor) {
  Section& section = Read(
      "  text: a\n  choice: x\n  number: 3\n  time: 1.5h\n  size: 2KiB\n"
      "  texts: [a, '1']\n  map: {k: v}\n");
  EXPECT_EQ(section.Text("text"), "a");
  EXPECT_EQ(section.Choice("choice", {"x", "y"}), "x");
  EXPECT_EQ(section.Integer("number", 1, 5), 3);
  EXPECT_EQ(section.Duration("time"), 5400);
  EXPECT_EQ(section.Bytes("size"), 2048);
  EXPECT_THAT(section.Texts("texts"), ElementsAre("a", "1"));
  EXPECT_EQ(section.TextMap("map").at("k"), "v");
  section.Finish();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SectionTest, GivesNothingForWhatIsAbsentOrNull) {
  Section& section = Read("  a: null\n  b: ~\n  c:\n");
  EXPECT_EQ(section.Text("a"), std::nullopt);
  EXPECT_EQ(section.Integer("b", 0, 1), std::nullopt);
  EXPECT_THAT(section.Texts("c"), IsEmpty());
  EXPECT_THAT(section.TextMap("d"), IsEmpty());
  EXPECT_EQ(section.Duration("e"), std::nullopt);
  EXPECT_EQ(section.Bytes("f"), std::nullopt);
  EXPECT_EQ(section.Take("g"), nullptr);
  section.Finish();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SectionTest, ReportsEachWrongTypeAtItsPlace) {
  Section& section = Read(
      "  text: [1]\n  choice: z\n  number: 6\n"
      "  time: 5\n  size: 5G\n  texts: a\n  mixed: [a, 1, {}]\n"
      "  map: [a]\n  deep: {k: 1}\n");
  EXPECT_EQ(section.Text("text"), std::nullopt);
  EXPECT_EQ(section.Choice("choice", {"x", "y"}), std::nullopt);
  EXPECT_EQ(section.Integer("number", 1, 5), std::nullopt);
  EXPECT_EQ(section.Duration("time"), std::nullopt);
  EXPECT_EQ(section.Bytes("size"), std::nullopt);
  EXPECT_THAT(section.Texts("texts"), IsEmpty());
  EXPECT_THAT(section.Texts("mixed"), ElementsAre("a"));
  EXPECT_THAT(section.TextMap("map"), IsEmpty());
  EXPECT_THAT(section.TextMap("deep"), IsEmpty());
  EXPECT_THAT(
      Problems(),
      ElementsAre("2 s.text: expected text, got [1]",
                  "3 s.choice: unknown value \"z\", known are x, y",
                  "4 s.number: expected an integer from 1 to 5, got 6",
                  "5 s.time: expected a duration such as 90s, 10m or 2h, got 5",
                  "6 s.size: expected a size such as 512MiB or 2GiB, got "
                  "\"5G\"",
                  "7 s.texts: expected a list, got \"a\"",
                  "8 s.mixed[1]: expected text, got 1 (write it in quotes)",
                  "8 s.mixed[2]: expected text, got {}",
                  "9 s.map: expected a mapping, got [\"a\"]",
                  "10 s.deep.k: expected text, got 1 (write it in quotes)"));
}

TEST_F(SectionTest, ReportsWhatNobodyTook) {
  Section& section = Read("  alpha: 1\n  aplha: 2\n  zzz: 3\n");
  section.Integer("alpha", 0, 9);
  section.Take("beta");
  section.Finish();
  EXPECT_THAT(Problems(),
              ElementsAre("3 s.aplha: unknown key 'aplha', did you mean "
                          "'alpha'?",
                          "4 s.zzz: unknown key 'zzz', known are alpha, "
                          "beta"));
}

TEST_F(SectionTest, IsEmptyWhereNoMappingStands) {
  Document document = ReadDocument("s: [1]\n");
  Section section(document, "s");
  EXPECT_EQ(section.Text("a"), std::nullopt);
  section.Finish();
  ASSERT_EQ(document.problems.size(), 1u);
  EXPECT_EQ(document.problems[0].message, "expected a mapping, got [1]");
  Section absent(document, "t");
  absent.Finish();
  EXPECT_EQ(document.problems.size(), 1u);
}

TEST(Quoted, IsShortAndOnOneLine) {
  EXPECT_EQ(Quoted(Json("a\nb")), "\"a\\nb\"");
  EXPECT_EQ(Quoted(Json("\xc3\xa9")), "\"\\u00e9\"");
  EXPECT_EQ(Quoted(Json("\xff")), "\"\\ufffd\"");
  const std::string cut = Quoted(Json(std::string(100, 'x')));
  EXPECT_EQ(cut.size(), 63u);
  EXPECT_TRUE(cut.ends_with("..."));
}

}  // namespace
}  // namespace epochd::client
