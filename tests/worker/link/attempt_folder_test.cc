// SPDX-License-Identifier: Apache-2.0
#include "worker/link/attempt_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <system_error>

#include "tests/worker/link/temp_dir.h"

namespace epochd::link {
namespace {

TEST(AttemptFolder, RecordsComeBackAsWritten) {
  const TempDir dir;
  WriteKeeper(dir.path(), {.pid = 12, .start_ticks = 345, .boot_id = "b"});
  WriteAcked(dir.path(), {.events = 1 << 20, .log = 7});
  ExitRecord killed;
  killed.term_signal = 9;
  killed.oom = true;
  killed.end_ns = 1234567890123456789;
  WriteExit(dir.path(), killed);

  EXPECT_EQ(ReadKeeper(dir.path())->start_ticks, 345);
  EXPECT_EQ(ReadAcked(dir.path())->events, 1 << 20);
  const auto record = ReadExit(dir.path());
  ASSERT_TRUE(record.has_value());
  EXPECT_FALSE(record->exit_code.has_value());
  EXPECT_EQ(record->term_signal, 9);
  EXPECT_TRUE(record->oom);
  EXPECT_EQ(record->end_ns, 1234567890123456789);
}

TEST(AttemptFolder, MissingAndBrokenRecordsAreNone) {
  const TempDir dir;
  EXPECT_FALSE(ReadExit(dir.path()).has_value());
  for (const char* broken : {"", "{", "[]", "{}", R"({"oom": true})"}) {
    SCOPED_TRACE(broken);
    ReplaceFile(ExitPath(dir.path()), broken, /*sync=*/false);
    ReplaceFile(KeeperPath(dir.path()), broken, /*sync=*/false);
    EXPECT_FALSE(ReadExit(dir.path()).has_value());
    EXPECT_FALSE(ReadKeeper(dir.path()).has_value());
  }
}

TEST(AttemptFolder, ReplaceLeavesTheOldFileWhenItCannotWrite) {
  const TempDir dir;
  const std::string path = dir / "record";
  ReplaceFile(path, "old", /*sync=*/true);
  std::filesystem::create_directory(path + ".tmp");
  EXPECT_THROW(ReplaceFile(path, "new", /*sync=*/true), std::system_error);
  EXPECT_EQ(Slurp(path), "old");
}

}  // namespace
}  // namespace epochd::link
