// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/digits.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/idx.h"
#include "worker/engine/data/npy.h"
#include "worker/engine/data/random.h"
#include "worker/engine/data/tensor_file.h"

namespace epochd::engine {
namespace {

using std::string_literals::operator""s;

class ReadersTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string WriteGzip(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ / name;
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }

  std::filesystem::path folder_;
};

std::string NpyBytes(const std::string& dict, const std::string& values,
                     char version = 1) {
  std::string header = dict;
  const size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY"s + version + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(header.size() >> (8 * i));
  }
  return bytes + header + values;
}

template <class T>
std::string Raw(std::vector<T> values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

TEST_F(ReadersTest, NpyReadsEveryVersionOrderAndByteOrder) {
  const at::Tensor expected =
      at::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}).view({2, 3});
  const std::string c_order =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  for (char version : {1, 2, 3}) {
    EXPECT_TRUE(at::equal(
        ParseNpy(NpyBytes(c_order, Raw<float>({1, 2, 3, 4, 5, 6}), version),
                 "a.npy"),
        expected));
  }
  EXPECT_TRUE(
      at::equal(ParseNpy(NpyBytes("{'descr': '<f4', 'fortran_order': True, "
                                  "'shape': (2, 3), }",
                                  Raw<float>({1, 4, 2, 5, 3, 6})),
                         "a.npy"),
                expected));
  EXPECT_TRUE(
      at::equal(ParseNpy(NpyBytes("{'descr': '>i2', 'fortran_order': False, "
                                  "'shape': (2,), }",
                                  "\x01\x02\xff\xfe"s),
                         "a.npy"),
                at::tensor({258, -2}, at::kShort)));
  EXPECT_EQ(ParseNpy(NpyBytes("{'descr': '|u1', 'fortran_order': False, "
                              "'shape': (), }",
                              "\x07"),
                     "a.npy")
                .item<int>(),
            7);
  EXPECT_EQ(ParseNpy(NpyBytes("{'descr': '<f8', 'fortran_order': False, "
                              "'shape': (0, 3), }",
                              ""),
                     "a.npy")
                .sizes(),
            at::IntArrayRef({0, 3}));
}

TEST_F(ReadersTest, NpyRefusesWhatItCannotRead) {
  const std::string ok =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const struct {
    std::string bytes;
    std::string message;
  } kRows[] = {
      {"", "magic"},
      {"\x93NUMPX\x01\x00\x10\x00"s + std::string(16, ' '), "magic"},
      {NpyBytes(ok, Raw<float>({1, 2}), 4), "version is 4"},
      {NpyBytes(ok, Raw<float>({1})), "does not fit its 4 bytes"},
      {NpyBytes(ok, Raw<float>({1, 2, 3})), "does not fit its 12 bytes"},
      {NpyBytes("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", ""),
       "type is \"|O\""},
      {NpyBytes("{'descr': [('a', '<f4')], 'fortran_order': False, "
                "'shape': (2,), }",
                ""),
       "structured"},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False}", ""),
       "no \"shape\""},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False, "
                "'shape': (4294967296, 4294967296, 4294967296), }",
                ""),
       "does not fit"},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
                ""),
       "whole numbers"},
  };
  for (const auto& row : kRows) {
    const std::string error = ErrorOf([&] { ParseNpy(row.bytes, "b.npy"); });
    EXPECT_NE(error.find(row.message), std::string::npos)
        << "got: " << error << "\nwanted: " << row.message;
    EXPECT_NE(error.find("b.npy"), std::string::npos) << error;
  }
}

TEST_F(ReadersTest, NpySurvivesEveryTruncationAndByteFlip) {
  const std::string good =
      NpyBytes("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
               Raw<float>({1, 2}));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(ErrorOf([&] { ParseNpy(good.substr(0, size), "c.npy"); }), "");
  }
  Random random({5});
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    bad[random.Below(bad.size())] = static_cast<char>(random.Below(256));
    ErrorOf([&] { ParseNpy(bad, "c.npy"); });  // throws Error or reads it
  }
}

std::string IdxBytes(uint8_t type, std::vector<uint32_t> sizes,
                     const std::string& values) {
  std::string bytes =
      "\0\0"s + static_cast<char>(type) + static_cast<char>(sizes.size());
  for (uint32_t size : sizes) {
    for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(size >> shift);
  }
  return bytes + values;
}

TEST_F(ReadersTest, IdxReadsPlainAndGzip) {
  const std::string bytes = IdxBytes(8, {2, 1, 3}, "\1\2\3\4\5\6");
  const at::Tensor expected = at::arange(1, 7).to(at::kByte).view({2, 1, 3});
  EXPECT_TRUE(at::equal(ReadIdx(Write("a", bytes)), expected));
  EXPECT_TRUE(at::equal(ReadIdx(WriteGzip("a.gz", bytes)), expected));
  EXPECT_TRUE(at::equal(ReadIdx(Write("b", IdxBytes(0x0B, {1}, "\x01\x02"))),
                        at::tensor({258}, at::kShort)));
}

TEST_F(ReadersTest, IdxRefusesWhatDoesNotFit) {
  const struct {
    std::string bytes;
    std::string message;
  } kRows[] = {
      {"", "two zero bytes"},
      {"\1\0\x08\1"s, "two zero bytes"},
      {IdxBytes(7, {1}, "a"), "type byte is 7"},
      {IdxBytes(8, {}, ""), "has 0 dimensions"},
      {IdxBytes(8, {2}, "a"), "do not fit its 1 bytes"},
      {IdxBytes(8, {2}, "abc"), "do not fit its 3 bytes"},
      {IdxBytes(8, {0xffffffff, 0xffffffff, 0xffffffff}, "abc"), "do not fit"},
      {IdxBytes(0x0D, {1}, "abcde"), "do not fit"},
  };
  for (const auto& row : kRows) {
    const std::string path = Write("bad", row.bytes);
    const std::string error = ErrorOf([&] { ReadIdx(path); });
    EXPECT_NE(error.find(row.message), std::string::npos) << error;
  }
}

TEST_F(ReadersTest, IdxDataSetScalesImagesAndChecksLabels) {
  const std::string images =
      Write("images", IdxBytes(8, {2, 1, 2}, "\xff\0\0\xff"s));
  const std::string labels = Write("labels", IdxBytes(8, {2}, "\3\1"));
  auto data = LoadIdx({.images = images, .labels = labels});
  ASSERT_EQ(data->Size(), 2);
  const Batch sample = data->Get(0, {});
  EXPECT_TRUE(
      at::equal(sample.At("input"), at::tensor({1.f, 0.f}).view({1, 1, 2})));
  EXPECT_EQ(sample.At("target").item<int64_t>(), 3);
  const std::string short_labels = Write("short", IdxBytes(8, {1}, "\3"));
  EXPECT_NE(ErrorOf([&] {
              LoadIdx({.images = images, .labels = short_labels});
            }).find("one label per image"),
            std::string::npos);
}

TEST_F(ReadersTest, DigitsSplitIsSeededStratifiedAndDisjoint) {
  std::string csv;
  for (int i = 0; i < 100; ++i) {
    csv += std::to_string(i) + ",0,0,0," + std::to_string(i % 2) + "\n";
  }
  const std::string path = WriteGzip("digits.csv.gz", csv);
  std::set<int> seen;
  for (const char* split : {"train", "val"}) {
    auto data = LoadDigits({.file = path, .split = split});
    EXPECT_EQ(data->Size(), split == "val"s ? 20 : 80);
    int ones = 0;
    for (int64_t i = 0; i < data->Size(); ++i) {
      const Batch sample = data->Get(i, {});
      ones += static_cast<int>(sample.At("target").item<int64_t>());
      seen.insert(static_cast<int>(sample.At("input")[0].item<float>()));
    }
    EXPECT_EQ(ones, data->Size() / 2);
  }
  EXPECT_EQ(seen.size(), 100u);
  auto first = LoadDigits({.file = path, .split = "val"});
  auto again = LoadDigits({.file = path, .split = "val"});
  auto other = LoadDigits({.file = path, .split = "val", .split_seed = 1});
  int moved = 0;
  for (int64_t i = 0; i < 20; ++i) {
    const at::Tensor row = first->Get(i, {}).At("input");
    EXPECT_TRUE(at::equal(row, again->Get(i, {}).At("input")));
    moved += !at::equal(row, other->Get(i, {}).At("input"));
  }
  EXPECT_GT(moved, 0);
  auto images = LoadDigits({.file = path, .split = "all", .image = true});
  EXPECT_EQ(images->Get(0, {}).At("input").sizes(), at::IntArrayRef({1, 2, 2}));
}

TEST_F(ReadersTest, DigitsNamesFileLineAndColumnOfABadValue) {
  const struct {
    std::string csv;
    std::string message;
  } kRows[] = {
      {"", "has no rows"},
      {"1,2,0\n1,x,0\n", "line 2: column 2 is \"x\""},
      {"1,2,0\n1,0\n", "line 2: has 2 columns; 3 are needed"},
      {"1,2,0.5\n", "line 1: label is"},
      {"1,2,-1\n", "line 1: label is"},
      {"1,nan,0\n", "line 1: column 2 is \"nan\""},
      {"7\n", "line 1: has 1 columns"},
      {"1;2;0\n", "not followed by a comma"},
  };
  for (const auto& row : kRows) {
    const std::string path = Write("bad.csv", row.csv);
    const std::string error = ErrorOf([&] { LoadDigits({.file = path}); });
    EXPECT_NE(error.find(row.message), std::string::npos) << error;
    EXPECT_NE(error.find("bad.csv"), std::string::npos) << error;
  }
}

TEST_F(ReadersTest, FilesOverTheLimitOrBrokenGzipAreRefused) {
  const std::string path = WriteGzip("big.gz", std::string(5000, 'a'));
  EXPECT_NE(ErrorOf([&] { ReadFileBytes(path, 4999); }).find("over 4999"),
            std::string::npos);
  EXPECT_EQ(ReadFileBytes(path, 5000).size(), 5000u);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 6);
  EXPECT_NE(ErrorOf([&] { ReadFileBytes(path); }), "");
  EXPECT_NE(ErrorOf([&] { ReadFileBytes(folder_ / "none"); }), "");
  EXPECT_NE(ErrorOf([&] { ReadFileBytes(folder_); }).find("regular"),
            std::string::npos);
}

TEST_F(ReadersTest, TensorFileJoinsNpyColumns) {
  const std::string input =
      Write("x.npy", NpyBytes("{'descr': '<f4', 'fortran_order': False, "
                              "'shape': (2, 1), }",
                              Raw<float>({1, 2})));
  const std::string target =
      Write("y.npy", NpyBytes("{'descr': '<i8', 'fortran_order': False, "
                              "'shape': (2,), }",
                              Raw<int64_t>({5, 6})));
  auto data = LoadTensorFile({.file = "", .input = input, .target = target});
  EXPECT_EQ(data->Get(1, {}).At("target").item<int64_t>(), 6);
  EXPECT_NE(ErrorOf([] { LoadTensorFile({}); }).find("names no file"),
            std::string::npos);
  const std::string three =
      Write("z.npy", NpyBytes("{'descr': '<i8', 'fortran_order': False, "
                              "'shape': (3,), }",
                              Raw<int64_t>({5, 6, 7})));
  EXPECT_NE(ErrorOf([&] {
              LoadTensorFile({.file = "", .input = input, .target = three});
            }).find("first dimension must be 2"),
            std::string::npos);
}

}  // namespace
}  // namespace epochd::engine
