// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/random_access_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/temp_folder.h"
#include "tests/worker/engine/error_of.h"

namespace epochd::engine {
namespace {

using testing::HasSubstr;

class RandomAccessFileTest : public testing::Test {
 protected:
  std::string Message(const std::string& path, int64_t offset, size_t size,
                      bool bulk) {
    return ErrorOf([&] {
      const RandomAccessFile file(path);
      std::vector<uint8_t> out(size);
      bulk ? file.ReadBulk(offset, out) : file.Read(offset, out);
    });
  }

  const TempFolder folder_;
};

TEST_F(RandomAccessFileTest, BulkReadsGiveTheSameBytes) {
  // Enough for several threads, and no whole number of parts.
  constexpr size_t kSize = (40 << 20) + 12345;
  std::vector<uint8_t> bytes(kSize);
  for (size_t i = 0; i < kSize; ++i) {
    bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  }
  const std::string path = folder_ / "big";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), kSize);
  const RandomAccessFile file(path);
  EXPECT_EQ(file.num_bytes(), static_cast<int64_t>(kSize));
  std::vector<uint8_t> read(kSize - 77);
  file.ReadBulk(77, read);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), bytes.begin() + 77));
  std::vector<uint8_t> part(1000);
  file.Read(123456, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), bytes.begin() + 123456));
  EXPECT_THAT(Message(path, 100, kSize, true), HasSubstr(": ends; "));
}

TEST_F(RandomAccessFileTest, NamesWhatCannotBeRead) {
  const std::string path = folder_ / "small";
  std::ofstream(path) << "abc";
  EXPECT_THAT(Message(path, 1, 5, false),
              HasSubstr("byte 3: ends; 3 bytes more are needed"));
  EXPECT_THAT(Message(path, 9, 1, true), HasSubstr("byte 9: ends; 1"));
  EXPECT_EQ(Message(path, 3, 0, false), "");
  EXPECT_THAT(Message(folder_ / "none", 0, 1, false),
              HasSubstr("none\": No such file"));
  EXPECT_THAT(Message(folder_.path(), 0, 1, false),
              HasSubstr("not a regular file"));
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(Message(fifo, 0, 1, false), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace epochd::engine
