// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalogue/catalogue.h"

namespace epochd::catalogue {
namespace {

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> known = {"AdamW", "Adam", "SGD",
                                          "CrossEntropy", "learning_rate"};
  struct Case {
    std::string word;
    std::string expected;  // empty: nothing is near
  };
  const std::vector<Case> cases = {
      {"adamw", "AdamW"},
      {"Adma", "Adam"},
      {"SDG", "SGD"},
      {"cross_entropy", "CrossEntropy"},
      {"CrossEntropi", "CrossEntropy"},
      {"lerning_rate", "learning_rate"},
      {"momentum", ""},
      {"", ""},
      {"x", ""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Nearest(c.word, known).value_or(""), c.expected) << c.word;
  }
}

TEST(Nearest, PrefersTheSmallerDistance) {
  EXPECT_EQ(Nearest("hidde", {"hiding", "hidden"}), "hidden");
}

TEST(Nearest, DoesNotCompareWordsOfAbsurdLength) {
  const std::string word(100000, 'a');
  EXPECT_EQ(Nearest(word, {word, "a"}), std::nullopt);
}

}  // namespace
}  // namespace epochd::catalogue
