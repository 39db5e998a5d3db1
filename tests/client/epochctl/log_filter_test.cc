// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/log_filter.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace epochd::epochctl {
namespace {

std::string Filtered(const std::vector<std::string>& pieces) {
  LogFilter filter;
  std::string result;
  for (const std::string& piece : pieces) result += filter.Filter(piece);
  return result + filter.Finish();
}

TEST(LogFilter, PassesTextAndTakesEscapeSequencesAway) {
  EXPECT_EQ(Filtered({"epoch 1\t50%\rdone\n"}), "epoch 1\t50%\rdone\n");
  EXPECT_EQ(Filtered({"a\x1b[31mred\x1b[0mb"}), "aredb");
  EXPECT_EQ(Filtered({"a\x1b]0;title\ab"}), "ab");
  EXPECT_EQ(Filtered({"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b"}), "alinkb");
  EXPECT_EQ(Filtered({"a\x1b"
                      "cb"}),
            "ab");
  EXPECT_EQ(Filtered({std::string("a\0b\a", 4)}), "a\\x00b\\x07");
}

TEST(LogFilter, WaitsForTheRestOfACharacterOrSequence) {
  EXPECT_EQ(Filtered({"50% \xe2\x96", "\x88 done"}), "50% █ done");
  EXPECT_EQ(Filtered({"a\x1b", "[3", "1mb"}), "ab");
  EXPECT_EQ(Filtered({"a\xe2\x96"}), "a\\xe2\\x96");
  EXPECT_EQ(Filtered({"a\x80z"}), "a\\x80z");
}

TEST(LogFilter, GivesTheSameHoweverABytesRunIsCut) {
  std::mt19937 random(5);
  const std::vector<std::string> parts = {
      "a",     "50% ",    "\n",   "\r",    "\t",      "\x1b", "\x1b[",
      "31",    "m",       ";",    "\x1b]", "0;title", "\a",   "\x1b\\",
      "\x1bP", "█",       "\xe2", "\x96",  "\x80",    "\xff", "日",
      "\x01",  "\x1b[0m", "[",    "\xf0",  "😀"};
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (size_t j = random() % 8; j > 0; --j) {
      text += parts[random() % parts.size()];
    }
    const std::string whole = Filtered({text});
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      ASSERT_EQ(Filtered({text.substr(0, cut), text.substr(cut)}), whole)
          << testing::PrintToString(text) << " cut at " << cut;
    }
    std::vector<std::string> bytes;
    for (const char c : text) bytes.emplace_back(1, c);
    ASSERT_EQ(Filtered(bytes), whole) << testing::PrintToString(text);
  }
}

TEST(LogFilter, ASequenceWithoutAnEndDoesNotSwallowWhatFollows) {
  EXPECT_EQ(Filtered({"a\x1b]0;never closed\nnext\n"}), "a\nnext\n");
  EXPECT_EQ(Filtered({"a\x1b[" + std::string(300, '1'), "m\nb\n"}), "am\nb\n");
  EXPECT_EQ(Filtered({"a\x1b[3\nb\n"}), "a\nb\n");
}

TEST(LogFilter, LetsNoEscapeThroughWhateverComes) {
  std::mt19937 random(3);
  const std::string alphabet = "\x1b[]0;m\a\\PX\xe2\x96\x88\n\rab\x9b";
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::string> pieces(1 + random() % 4);
    for (std::string& piece : pieces) {
      for (size_t j = random() % 30; j > 0; --j) {
        piece += alphabet[random() % alphabet.size()];
      }
    }
    for (const char c : Filtered(pieces)) {
      ASSERT_NE(c, '\x1b') << i;
      ASSERT_NE(c, '\a') << i;
    }
  }
}

}  // namespace
}  // namespace epochd::epochctl
