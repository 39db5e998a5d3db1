// SPDX-License-Identifier: Apache-2.0
#include "worker/link/spool_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "tests/worker/link/temp_dir.h"

namespace epochd::link {
namespace {

using ::testing::HasSubstr;
using Outcome = SpoolChunk::Outcome;

constexpr int64_t kBatch = 4096;

TEST(SpoolReader, GivesWholeLinesOnly) {
  const TempDir dir;
  SpoolReader reader(dir / "e");
  EXPECT_EQ(reader.Read(0, kBatch).outcome, Outcome::kMissing);
  Append(dir / "e", "{\"a\":1}\n{\"b\"");
  SpoolChunk chunk = reader.Read(0, kBatch);
  EXPECT_EQ(chunk.lines, "{\"a\":1}\n");
  EXPECT_EQ(reader.Read(chunk.next_offset(), kBatch).outcome,
            Outcome::kNothing);
  Append(dir / "e", ":2}\n");
  EXPECT_EQ(reader.Read(chunk.next_offset(), kBatch).lines, "{\"b\":2}\n");
}

TEST(SpoolReader, ReadsALineLongerThanTheBatch) {
  const TempDir dir;
  const std::string line = std::string(3 * kBatch, 'x') + "\n";
  Append(dir / "e", line + "next\n");
  SpoolReader reader(dir / "e");
  EXPECT_EQ(reader.Read(0, kBatch).lines, line);
}

TEST(SpoolReader, StandsInForALineThatIsTooLongWithItsLength) {
  const TempDir dir;
  const auto size = static_cast<size_t>(2.5 * SpoolReader::kMaxForwardedLine);
  Append(dir / "e", "first\n" + std::string(size, 'x') + "\nlast\n");
  SpoolReader reader(dir / "e");
  std::string all;
  bool replaced = false;
  while (true) {
    const SpoolChunk chunk =
        reader.Read(static_cast<int64_t>(all.size()), kBatch);
    if (chunk.outcome != Outcome::kLines) break;
    ASSERT_EQ(chunk.lines.back(), '\n');
    EXPECT_LE(chunk.lines.size(),
              static_cast<size_t>(SpoolReader::kMaxForwardedLine));
    replaced = replaced || chunk.replaced;
    all += chunk.lines;
  }
  EXPECT_TRUE(replaced);
  EXPECT_EQ(all.size(), Slurp(dir / "e").size());
  EXPECT_THAT(all, testing::StartsWith("first\n{\"type\":\"notice\""));
  EXPECT_THAT(all, testing::EndsWith("\nlast\n"));
  EXPECT_THAT(all, testing::Not(HasSubstr("x\n")));
}

TEST(SpoolReader, TellsOfAFileThatWasCut) {
  const TempDir dir;
  Append(dir / "e", "one\ntwo\n");
  SpoolReader reader(dir / "e");
  EXPECT_EQ(reader.Read(8, kBatch).outcome, Outcome::kNothing);
  std::filesystem::resize_file(dir / "e", 4);
  EXPECT_EQ(reader.Read(8, kBatch).outcome, Outcome::kTruncated);
}

TEST(SpoolReader, AnyCutOfAnyWriteGivesTheSameLines) {
  std::mt19937 random(7);
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += std::string(random() % 300, static_cast<char>('a' + i % 26)) + "\n";
  }
  SpoolReader reader(dir / "e");
  std::string seen;
  for (size_t at = 0; at < text.size();) {
    const size_t piece = std::min<size_t>(random() % 500, text.size() - at);
    Append(dir / "e", text.substr(at, piece));
    at += piece;
    const SpoolChunk chunk =
        reader.Read(static_cast<int64_t>(seen.size()), 256);
    if (chunk.outcome == Outcome::kLines) seen += chunk.lines;
  }
  while (seen.size() < text.size()) {
    const SpoolChunk chunk =
        reader.Read(static_cast<int64_t>(seen.size()), 256);
    ASSERT_EQ(chunk.outcome, Outcome::kLines);
    seen += chunk.lines;
  }
  EXPECT_EQ(seen, text);
}

TEST(LastError, FindsTheNewestErrorAndNothingElse) {
  const TempDir dir;
  EXPECT_EQ(LastError(dir / "e"), "");
  Append(dir / "e",
         R"({"type":"notice","severity":"error","text":"first"})"
         "\nnot json\n"
         R"({"type":"notice","severity":"warning","text":"no error"})"
         "\n");
  EXPECT_EQ(LastError(dir / "e"), "first");
  Append(dir / "e",
         R"({"type":"training_ended","outcome":"failed","message":"NaN loss"})"
         "\n{\"type\":\"notice\",\"severity\":\"error\",\"text\":\"torn");
  EXPECT_EQ(LastError(dir / "e"), "NaN loss");
}

}  // namespace
}  // namespace epochd::link
