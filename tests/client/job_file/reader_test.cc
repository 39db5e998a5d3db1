// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace epochd::client {
namespace {

// "line:column: field: message" of the first problem.
std::string FirstProblem(const Document& document) {
  if (document.problems.empty()) return "";
  const Problem& problem = document.problems.front();
  return std::to_string(problem.position.line) + ":" +
         std::to_string(problem.position.column) + ": " + problem.field + ": " +
         problem.message;
}

TEST(Reader, KeepsThePlaceOfEveryKeyAndElement) {
  const Document document = ReadDocument(
      "a: 1\n"
      "b:\n"
      "  c: [x, {d: 2}]\n"
      "  e.f: 3\n");
  EXPECT_EQ(FirstProblem(document), "");
  EXPECT_EQ(document.value.dump(),
            R"({"a":1,"b":{"c":["x",{"d":2}],"e.f":3}})");
  EXPECT_EQ(document.positions.at("a"), (Position{1, 1}));
  EXPECT_EQ(document.positions.at("b.c"), (Position{3, 3}));
  EXPECT_EQ(document.positions.at("b.c[0]"), (Position{3, 7}));
  EXPECT_EQ(document.positions.at("b.c[1].d"), (Position{3, 11}));
  EXPECT_EQ(document.positions.at("b[\"e.f\"]"), (Position{4, 3}));
  EXPECT_EQ(Locate(document.positions, "b.c[1].missing"), (Position{3, 10}));
  EXPECT_EQ(Locate(document.positions, "nowhere.at.all"), (Position{1, 1}));
}

TEST(Reader, ReadsTheSameFromJsonWithPlaces) {
  const std::string text =
      "{\n"
      "  \"a\": 12,\n"
      "  \"b\\\"\": [true, \"x\", {\"d\": -1.5e3}],\n"
      "  \"big\": 18446744073709551615\n"
      "}\n";
  for (const bool is_json : {true, false}) {
    const Document document = ReadDocument(text, is_json);
    EXPECT_EQ(FirstProblem(document), "");
    EXPECT_EQ(document.value.dump(),
              R"({"a":12,"b\"":[true,"x",{"d":-1500.0}],)"
              R"("big":18446744073709551615})");
    EXPECT_EQ(document.positions.at("a"), (Position{2, 3}));
    EXPECT_EQ(document.positions.at("[\"b\\\"\"]"), (Position{3, 3}));
    EXPECT_EQ(document.positions.at("[\"b\\\"\"][1]"), (Position{3, 17}));
    EXPECT_EQ(document.positions.at("[\"b\\\"\"][2].d"), (Position{3, 23}));
  }
}

TEST(Reader, RefusesWhatIsNotAcceptedWithItsPlace) {
  struct Case {
    std::string text;
    std::string problem;
  };
  const std::vector<Case> cases = {
      {"a: 1\nb: 2\na: 3\n", "3:1: a: duplicate key, first given at line 1"},
      {"{\"a\": 1,\n \"a\": 2}",
       "2:2: a: duplicate key, first given at line 1"},
      {"a: &x 1\nb: *x\n",
       "1:4: : an anchor (&name) is not accepted, write ${a.b} where the value "
       "is wanted again"},
      {"a: 1\n<<: {b: 2}\n", "2:1: : merge key '<<' is not accepted"},
      {"a: !!binary aGk=\n",
       "1:4: : tag 'tag:yaml.org,2002:binary' does not fit here or is not "
       "accepted"},
      {"a: !mine {b: 1}\n", "1:4: : tag '!mine' is not accepted"},
      {"a: 1\n---\nb: 2\n", "2:1: : a second document, one is accepted"},
      {"? [1, 2]\n: 3\n", "1:3: : a list is no key"},
      {"? {a: 1}\n: 3\n", "1:3: : a mapping is no key"},
      {"~: 3\n", "1:1: : a key is missing"},
      {"a: [1, 2\n", "2:1: : no YAML: end of sequence flow not found"},
      {"a: b: c\n", "1:5: : no YAML: illegal map value"},
      {"a: 99999999999999999999\n",
       "1:4: a: integer out of range '99999999999999999999', 64 bits are "
       "accepted"},
      {"ab\xff", "1:3: : bytes that are not UTF-8"},
      {std::string("a: 1\nb: \0", 9), "2:4: : a NUL character is not accepted"},
      {std::string(300 * 1024, 'a'),
       "1:1: : file of 307200 bytes is too large, 262144 are accepted"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(FirstProblem(ReadDocument(c.text)), c.problem) << c.text;
  }
}

TEST(Reader, RefusesBrokenJsonWithItsPlace) {
  EXPECT_EQ(FirstProblem(ReadDocument("{\n \"a\": 1,\n}", true)),
            "3:1: : no JSON: unexpected \"}\"");
  EXPECT_EQ(FirstProblem(ReadDocument("{\"a\": [1", true)),
            "1:9: : no JSON: unexpected end");
  EXPECT_EQ(FirstProblem(ReadDocument("{\"a\": 99999999999999999999}", true)),
            "1:7: : number out of range '99999999999999999999'");
}

TEST(Reader, BoundsDepthValuesAndPathsInBothForms) {
  const std::string depth = "nested deeper than 64 levels, the most accepted";
  EXPECT_NE(FirstProblem(ReadDocument("a: " + std::string(70, '[') +
                                      std::string(70, ']')))
                .find(depth),
            std::string::npos);
  EXPECT_NE(
      FirstProblem(ReadDocument(std::string(100000, '['), true)).find(depth),
      std::string::npos);
  std::string many = "a: [";
  for (int i = 0; i < 11000; ++i) many += "1,";
  EXPECT_NE(
      FirstProblem(ReadDocument(many + "]")).find("more than 10000 values"),
      std::string::npos);
  std::string wide;
  for (int i = 0; i < 60; ++i) wide += "{" + std::string(120, 'k') + ": ";
  wide += "[" + many.substr(4, 12000) + "]" + std::string(60, '}');
  EXPECT_NE(FirstProblem(ReadDocument(wide)).find("keys too long"),
            std::string::npos);
}

TEST(Reader, TakesQuotedScalarsForTextAndTagsThatFit) {
  const Document document = ReadDocument(
      "a: \"1\"\nb: 'true'\nc: !!str 5\nd: !!float 3\ne: |\n  two\n  lines\n"
      "f:\n");
  EXPECT_EQ(FirstProblem(document), "");
  EXPECT_EQ(document.value.dump(),
            R"({"a":"1","b":"true","c":"5","d":3.0,"e":"two\nlines\n",)"
            R"("f":null})");
}

}  // namespace
}  // namespace epochd::client
