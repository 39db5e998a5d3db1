// SPDX-License-Identifier: Apache-2.0
#include "server/api/catalogues.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/server/api/good_spec.h"

namespace epochd::api {
namespace {

constexpr char kSmall[] =
    R"({"version": 1, "components": [{"kind": "model", "name": "A"}]})";

TEST(CataloguesTest, TheOneAddedOrUsedLastIsCurrent) {
  Catalogues catalogues;
  EXPECT_EQ(catalogues.Current(), nullptr);
  const auto large = catalogues.Add("file", FixtureCatalogue());
  ASSERT_TRUE(large.ok()) << large.status();
  const auto small = catalogues.Add("worker", kSmall);
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(catalogues.Current(), *small);
  EXPECT_EQ((*small)->components, std::set<std::string>{"model/A"});
  EXPECT_EQ(catalogues.Use((*large)->sha256), *large);
  EXPECT_EQ(catalogues.Current(), *large);
  EXPECT_EQ(catalogues.Use("unknown"), nullptr);
  EXPECT_EQ(catalogues.Current(), *large);
}

TEST(CataloguesTest, TheSameTextIsReadOnce) {
  Catalogues catalogues;
  const auto first = catalogues.Add("a", kSmall);
  const auto second = catalogues.Add("b", kSmall);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
}

TEST(CataloguesTest, RefusesWhatIsNoneAndKeepsTheCurrent) {
  Catalogues catalogues;
  const auto good = catalogues.Add("a", kSmall);
  ASSERT_TRUE(good.ok());
  for (const std::string bad :
       {"", "[]", "{}", R"({"version": 1, "components": [{"kind": 1}]})",
        R"({"version": 1, "version": 1, "components": []})"}) {
    const auto added = catalogues.Add("worker", bad);
    EXPECT_EQ(added.status().code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(std::string(added.status().message()).rfind("worker", 0), 0u)
        << added.status();
  }
  EXPECT_EQ(catalogues.Current(), *good);
}

}  // namespace
}  // namespace epochd::api
