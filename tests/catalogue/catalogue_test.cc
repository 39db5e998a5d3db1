// SPDX-License-Identifier: Apache-2.0
#include "catalogue/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/catalogue/fixture.h"

namespace epochd::catalogue {
namespace {

TEST(Catalogue, SurvivesARoundTripThroughJsonByteForByte) {
  const std::string once = ToJson(Fixture()).dump();
  const std::string twice = ToJson(FromJson(Json::parse(once))).dump();
  EXPECT_EQ(once, twice);
  EXPECT_NE(once.find("\"max_replicas\":1"), std::string::npos);
  EXPECT_NE(once.find("\"exclusive_min\":true"), std::string::npos);
}

TEST(Catalogue, FindsByNameAliasAndLastPartOfADottedName) {
  const Catalogue catalogue = Fixture();
  ASSERT_NE(catalogue.Find("model", "MLP"), nullptr);
  EXPECT_EQ(catalogue.Find("model", "mlp"), catalogue.Find("model", "MLP"));
  ASSERT_NE(catalogue.Find("loss", "torch.nn.CrossEntropyLoss"), nullptr);
  EXPECT_EQ(catalogue.Find("loss", "torch.nn.CrossEntropyLoss")->name,
            "CrossEntropy");
  EXPECT_EQ(catalogue.Find("loss", "MLP"), nullptr);
  EXPECT_EQ(catalogue.FindAll("Shared").size(), 2u);
  EXPECT_TRUE(catalogue.FindAll("Nothing").empty());
}

TEST(Catalogue, RefusesMalformedJsonNamingTheEntry) {
  struct Case {
    std::string json;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"[]", "catalogue: not an object"},
      {R"({"version": 2, "components": []})", "catalogue.version: unknown 2"},
      {R"({"version": 1})", "catalogue.components: not a list"},
      {R"({"version": 1, "components": [1]})",
       "catalogue.components[0]: not an object"},
      {R"({"version": 1, "components": [{"kind": "model"}]})",
       "catalogue.components[0].name: missing"},
      {R"({"version": 1, "components": [{"kind": "m", "name": "A",
           "gives": 3}]})",
       "m/A.gives: of the wrong type"},
      {R"({"version": 1, "components": [{"kind": "m", "name": "A",
           "needs": [{"tasks": ["train"]}]}]})",
       "m/A.needs.any_of: missing or empty"},
      {R"({"version": 1, "components": [{"kind": "m", "name": "A",
           "needs": [3]}]})",
       "m/A.needs: not a list of objects"},
      {R"({"version": 1, "components": [{"kind": "m", "name": "A",
           "max_replicas": 0}]})",
       "m/A: max_replicas is less than 1"},
      {R"({"version": 1, "components": [{"kind": "m", "name": "A",
           "aliases": 3}]})",
       "m/A.aliases: of the wrong type"},
      {R"({"version": 1, "components": [{"kind": "m", "name": "A",
           "parameters": [{"name": "x", "type": "list<integer>"}]}]})",
       "m/A: parameter 'x': type: unknown 'integer'"},
      {R"({"version": 1, "components": [{"kind": "m", "name": "A",
           "parameters": [{"name": "x", "type": "int"},
                          {"name": "y", "type": "int", "aliases": ["x"]}]}]})",
       "m/A: parameter alias 'x' is declared twice"},
      {R"({"version": 1, "components": [{"kind": "m", "name": "A"},
           {"kind": "m", "name": "B", "aliases": ["A"]}]})",
       "m/A: the name is taken already"},
  };
  for (const Case& c : cases) {
    try {
      FromJson(Json::parse(c.json));
      ADD_FAILURE() << "accepted " << c.json;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(c.message)) << c.json;
    }
  }
}

TEST(Catalogue, QuotesKeysInFieldPathsThatAreNoPlainWords) {
  EXPECT_EQ(AppendKey("", "model"), "model");
  EXPECT_EQ(AppendKey("a", "b"), "a.b");
  EXPECT_EQ(AppendKey("a", "b.c"), "a[\"b.c\"]");
  EXPECT_EQ(AppendKey("a", "b\x1b[1m"), "a[\"b\\u001b[1m\"]");
  EXPECT_EQ(AppendIndex("a", 3), "a[3]");
}

TEST(Duration, TakesNumbersWithAUnit) {
  EXPECT_EQ(ParseDuration("90s"), 90);
  EXPECT_EQ(ParseDuration("10m"), 600);
  EXPECT_EQ(ParseDuration("1.5h"), 5400);
  EXPECT_EQ(ParseDuration("250ms"), 0.25);
  EXPECT_EQ(ParseDuration("2 d"), 172800);
  for (const char* bad : {"", "10", "s", "-1s", "0s", "1e300h", "nan s", "inf",
                          "1x", "1s1", "+1s", "9999999d"}) {
    EXPECT_EQ(ParseDuration(bad), std::nullopt) << bad;
  }
}

TEST(Bytes, TakesNumbersWithAUnit) {
  EXPECT_EQ(ParseBytes("512MiB"), 512 << 20);
  EXPECT_EQ(ParseBytes("1.5 GiB"), 1610612736);
  EXPECT_EQ(ParseBytes("2GB"), 2000000000);
  EXPECT_EQ(ParseBytes("7B"), 7);
  for (const char* bad : {"", "10", "1G", "0B", "0.1B", "-1KiB", "1e3MiB",
                          "99999999999TiB", "MiB", "1 MiB x"}) {
    EXPECT_EQ(ParseBytes(bad), std::nullopt) << bad;
  }
}

TEST(Every, TakesEpochsStepsAndDurations) {
  EXPECT_EQ(ParseEvery("1 epoch")->epochs, 1);
  EXPECT_EQ(ParseEvery("5 epochs")->epochs, 5);
  EXPECT_EQ(ParseEvery("100 steps")->steps, 100);
  EXPECT_EQ(ParseEvery("10m")->seconds, 600);
  for (const char* bad : {"", "5", "0 epochs", "-1 step", "1.5 epochs",
                          "99999999999999999999 steps", "every epoch"}) {
    EXPECT_FALSE(ParseEvery(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace epochd::catalogue
