// SPDX-License-Identifier: Apache-2.0
#include "server/api/catalogues.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/server/api/good_spec.h"

namespace epochd::api {
namespace {

constexpr char kSmall[] =
    R"({"version": 1, "components": [{"kind": "model", "name": "A"}]})";

std::string With(const std::string& components) {
  return R"({"version": 1, "components": [)" + components + "]}";
}

TEST(CataloguesTest, TheOneOfTheStartServesUntilAWorkerReports) {
  Catalogues catalogues;
  EXPECT_EQ(catalogues.Current(), nullptr);
  ASSERT_TRUE(catalogues.Load("file", FixtureCatalogue()).ok());
  const auto start = catalogues.Current();
  EXPECT_NE(start->catalogue.Find("model", "MLP"), nullptr);
  const auto small = catalogues.Report("w1", kSmall);
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(catalogues.Current(), *small);
  EXPECT_EQ((*small)->components, std::set<std::string>{"model/A"});
  ASSERT_TRUE(catalogues.Load("file", FixtureCatalogue()).ok());
  EXPECT_EQ(catalogues.Current(), *small);
}

// Workers with different plugins: a job may name what any of them has.
TEST(CataloguesTest, TakesTheComponentsOfAllWorkersTogether) {
  Catalogues catalogues;
  const auto plain = catalogues.Report("w1", kSmall);
  const auto plugin = catalogues.Report(
      "w2", With(R"({"kind": "model", "name": "A", "help": "newer"},
                    {"kind": "loss", "name": "L"})"));
  ASSERT_TRUE(plain.ok() && plugin.ok());
  const auto both = catalogues.Current();
  EXPECT_EQ(both->components, (std::set<std::string>{"loss/L", "model/A"}));
  EXPECT_EQ(both->catalogue.Find("model", "A")->help, "newer");
  EXPECT_EQ(
      catalogue::FromJson(catalogue::Json::parse(both->json)).components.size(),
      2u);

  // The same again changes nothing; a worker that lost its plugin takes the
  // component with it.
  EXPECT_EQ(catalogues.ReportKnown("w2", (*plugin)->sha256), *plugin);
  EXPECT_EQ(catalogues.Current(), both);
  EXPECT_EQ(catalogues.ReportKnown("w2", (*plain)->sha256), *plain);
  EXPECT_EQ(catalogues.Current(), *plain);
  EXPECT_EQ(catalogues.ReportKnown("w3", (*plugin)->sha256), nullptr);
}

TEST(CataloguesTest, TheSameTextIsReadOnce) {
  Catalogues catalogues;
  const auto first = catalogues.Report("w1", kSmall);
  const auto second = catalogues.Report("w2", kSmall);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
}

TEST(CataloguesTest, RefusesWhatIsNoneAndKeepsTheCurrent) {
  Catalogues catalogues;
  const auto good = catalogues.Report("w1", kSmall);
  ASSERT_TRUE(good.ok());
  for (const std::string bad :
       {"", "[]", "{}", R"({"version": 1, "components": [{"kind": 1}]})",
        R"({"version": 1, "version": 1, "components": []})"}) {
    const auto added = catalogues.Report("w1", bad);
    EXPECT_EQ(added.status().code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(std::string(added.status().message()).rfind("catalogue_json", 0),
              0u)
        << added.status();
  }
  EXPECT_EQ(catalogues.Load("/c.json", "[]").message().substr(0, 7), "/c.json");
  EXPECT_EQ(catalogues.Current(), *good);
}

}  // namespace
}  // namespace epochd::api
