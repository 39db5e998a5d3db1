// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/temp_folder.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/digits.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/idx.h"
#include "worker/engine/data/image/cifar.h"
#include "worker/engine/data/npy.h"
#include "worker/engine/data/random.h"
#include "worker/engine/data/tensor_file.h"

namespace epochd::engine {
namespace {

using std::string_literals::operator""s;

class ReadersTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    return folder_.Write(name, bytes);
  }
  std::string WriteGzip(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ / name;
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }

  const TempFolder folder_;
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

TEST_F(ReadersTest, NpyGivesUnsignedNumbersInWiderTypes) {
  const auto read = [](const std::string& descr, const std::string& values) {
    return ParseNpy(NpyBytes("{'descr': '" + descr +
                                 "', 'fortran_order': False, 'shape': (2,), }",
                             values),
                    "u.npy");
  };
  EXPECT_TRUE(at::equal(read("<u2", Raw<uint16_t>({1, 0xffff})),
                        at::tensor({1, 0xffff}, at::kInt)));
  EXPECT_TRUE(at::equal(read(">u2", "\x01\x02\xff\xfe"s),
                        at::tensor({0x102, 0xfffe}, at::kInt)));
  EXPECT_TRUE(at::equal(read("<u4", Raw<uint32_t>({1, 0xffffffff})),
                        at::tensor({int64_t{1}, int64_t{0xffffffff}})));
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(at::equal(read("<u8", Raw<uint64_t>({1, kMost})),
                        at::tensor({int64_t{1}, int64_t{kMost}})));
  EXPECT_EQ(ErrorOf([&] {
              read("<u8", Raw<uint64_t>({1, kMost + 1}));
            }),
            "npy file \"u.npy\": byte 128: the values of type u8 are not all "
            "below 2^63");
}

TEST_F(ReadersTest, NpyRefusesWhatItCannotReadAndNamesTheByte) {
  const std::string ok =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const auto header = [](const std::string& order, const std::string& shape,
                         const std::string& more = "") {
    return NpyBytes("{'descr': '|u1', 'fortran_order': " + order +
                        ", 'shape': " + shape + "}" + more,
                    std::string(12, 'a'));
  };
  const struct {
    std::string bytes;
    std::string message;
  } kRows[] = {
      {"", "byte 0: does not begin with the npy magic"},
      {"\x93NUMPX\x01\x00\x10\x00"s + std::string(16, ' '), "byte 0: "},
      {NpyBytes(ok, Raw<float>({1, 2}), 4), "byte 6: the version is 4"},
      {NpyBytes(ok, "").substr(0, 9), "byte 9: ends before its header"},
      {NpyBytes(ok, "").substr(0, 40), "byte 8: a header of"},
      {NpyBytes(ok, Raw<float>({1})),
       "byte 60: the shape [2] has more values than the 4 bytes that"},
      {NpyBytes(ok, Raw<float>({1, 2, 3})), "byte 136: goes on after"},
      {NpyBytes("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", ""),
       "byte 20: the header has the type \"|O\""},
      {NpyBytes("{'descr': [('a', '<f4')], 'fortran_order': False, "
                "'shape': (2,), }",
                ""),
       "byte 20: the header tells of fields; structured"},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False}", ""),
       "byte 10: the header has no \"shape\""},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False, "
                "'shape': (4294967296, 4294967296, 4294967296), }",
                ""),
       "byte 60: the shape"},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
                ""),
       "byte 61: the header has the size \"-1,), }"},
      // What numpy does not take for a header.
      {header("1", "(6, 2)"), "byte 44: the header has \"1, 'shape': "},
      {header("Trueish", "(6, 2)"), "byte 48: the header has \"ish, "},
      {header("True", "(6 2)"), "byte 62: the header has \"2)}"},
      {header("True", "(12)"), "byte 62: the header has \")}"},
      {header("True", "(6,,2)"), "byte 62: the header has the size \",2)}"},
      {header("True", "[6, 2]"), "byte 59: the header has \"[6, 2]}"},
      {header("True", "(6, 2), 'shape': (6, 2)"),
       "byte 67: the header has the key"},
      {header("True", "(6, 2), 'more': 1"), "the key \"more\""},
      {header("True", "(6, 2)", " x"), "byte 67: the header goes on with \"x"},
      {header("True", "(6, 2), junk 'x': 1"), "where a key is needed"},
      {NpyBytes("x {'descr': '|u1', 'fortran_order': False, 'shape': ()}", "a"),
       "byte 10: the header has \"x {"},
      {NpyBytes("{'descr': '|u1', 'shape': (), 'x': ['fortran_order']}", "a"),
       "the key \"x\""},
  };
  for (const auto& row : kRows) {
    const std::string error = ErrorOf([&] { ParseNpy(row.bytes, "b.npy"); });
    EXPECT_NE(error.find(row.message), std::string::npos)
        << "got: " << error << "\nwanted: " << row.message;
    EXPECT_EQ(error.find("npy file \"b.npy\": byte "), 0) << error;
    if (row.bytes.empty()) continue;
    // Of a file it is the same.
    const std::string path = Write("b.npy", row.bytes);
    EXPECT_NE(ErrorOf([&] { ReadNpy(path); }).find(row.message),
              std::string::npos);
  }
  // As Python 2 wrote them, and without the last comma.
  EXPECT_EQ(ParseNpy(header("False", "(6L, 2L)"), "b.npy").sizes(),
            at::IntArrayRef({6, 2}));
  EXPECT_EQ(ParseNpy(NpyBytes("{\"shape\":(12,),\"fortran_order\":False,"
                              "\"descr\":\"|u1\"}",
                              std::string(12, 'a')),
                     "b.npy")
                .numel(),
            12);
}

TEST_F(ReadersTest, NpyInGzipIsReadAsFarAsItsHeaderTells) {
  const std::string dict =
      "{'descr': '<i2', 'fortran_order': True, 'shape': (300, 200), }";
  std::vector<int16_t> values(60000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int16_t>(i);
  const std::string good = NpyBytes(dict, Raw(values));
  EXPECT_TRUE(
      at::equal(ReadNpy(WriteGzip("a.npy.gz", good)), ParseNpy(good, "a.npy")));
  EXPECT_NE(ErrorOf([&] {
              ReadNpy(WriteGzip("b.npy.gz", good + "x"));
            }).find("byte 120128: goes on after"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] {
              ReadNpy(WriteGzip("b.npy.gz", good.substr(0, 90000)));
            }).find("byte 90000: ends before the values"),
            std::string::npos);
  const std::string claims = NpyBytes(
      "{'descr': '<i2', 'fortran_order': True, 'shape': (300, 2000000), }", "");
  EXPECT_NE(ErrorOf([&] {
              ReadNpy(WriteGzip("c.npy.gz", claims));
            }).find("byte 59: the shape [300, 2000000] has more values"),
            std::string::npos);
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

TEST_F(ReadersTest, IdxRefusesWhatDoesNotFitAndNamesTheByte) {
  const struct {
    std::string bytes;
    std::string message;
  } kRows[] = {
      {"", "byte 0: 4 bytes more of header are needed"},
      {"\1\0\x08\1"s, "byte 0: does not begin with two zero bytes"},
      {IdxBytes(7, {1}, "a"), "byte 2: the type is 7"},
      {IdxBytes(8, {}, ""), "byte 3: has 0 dimensions"},
      {IdxBytes(8, std::vector<uint32_t>(9, 1), "a"), "byte 3: has 9"},
      {IdxBytes(8, {2}, "").substr(0, 6), "byte 6: 2 bytes more of header"},
      {IdxBytes(8, {2}, "a"),
       "byte 4: the dimensions [2] have more than the 1"},
      {IdxBytes(8, {2}, "abc"),
       "byte 10: goes on after the values of its "
       "dimensions [2]"},
      {IdxBytes(8, {0xffffffff, 0xffffffff, 0xffffffff}, "abc"), "byte 4:"},
      {IdxBytes(0x0D, {1}, "abcde"), "byte 12: goes on"},
  };
  for (const auto& row : kRows) {
    const std::string path = Write("bad", row.bytes);
    EXPECT_NE(ErrorOf([&] {
                ReadIdx(path);
              }).find("IDX file \"" + path + "\": " + row.message),
              std::string::npos)
        << ErrorOf([&] { ReadIdx(path); }) << "\nwanted: " << row.message;
  }
}

TEST_F(ReadersTest, IdxThatWasCutOffAnywhereIsRefused) {
  const std::string good = IdxBytes(0x0B, {2, 1, 3}, std::string(12, 'a'));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(ErrorOf([&] {
                ReadIdx(Write("cut", good.substr(0, size)));
              }).find("\": byte "),
              std::string::npos)
        << size;
    EXPECT_NE(ErrorOf([&] {
                ReadIdx(WriteGzip("cut.gz", good.substr(0, size)));
              }).find("\": byte " + std::to_string(size)),
              std::string::npos)
        << size;
  }
}

TEST_F(ReadersTest, CifarThatWasCutOffAnywhereIsRefused) {
  const std::string good = "\3" + std::string(3072, 'a');
  for (size_t size = 0; size < good.size(); ++size) {
    const std::string error = ErrorOf(
        [&] { ParseCifar(good.substr(0, size), "c.bin", CifarKind::k10); });
    EXPECT_NE(error.find("CIFAR file \"c.bin\": byte 0: "), std::string::npos)
        << error;
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
      {"1,2,0\n1,x,0\n", "line 2: column 1 is \"x\"; a number"},
      {"1,2,0\n1,0\n", "line 2: has 2 columns; 3 are needed"},
      {"1,2,0.5\n", "line 1: column 2 is \"0.5\"; a label"},
      {"1,2,-1\n", "line 1: column 2 is \"-1\"; a label"},
      {"1,nan,0\n", "line 1: column 1 is \"nan\""},
      {"7\n", "has one column; grey levels and a label are needed"},
      {"1;2;0\n", "has one column"},
  };
  for (const auto& row : kRows) {
    const std::string path = Write("bad.csv", row.csv);
    const std::string error = ErrorOf([&] { LoadDigits({.file = path}); });
    EXPECT_NE(error.find(row.message), std::string::npos) << error;
    EXPECT_NE(error.find("bad.csv"), std::string::npos) << error;
  }
}

TEST_F(ReadersTest, FilesOverTheLimitOrBrokenGzipAreRefused) {
  const std::string plain = Write("big", std::string(5000, 'a'));
  const std::string path = WriteGzip("big.gz", std::string(5000, 'a'));
  for (const std::string& each : {plain, path}) {
    EXPECT_NE(ErrorOf([&] { ReadFileBytes(each, 4999); })
                  .find("file \"" + each +
                        "\": byte 4999: goes on; at most 4999 bytes"),
              std::string::npos);
    EXPECT_EQ(ReadFileBytes(each, 5000), std::string(5000, 'a'));
  }
  EXPECT_EQ(ReadFileBytes(Write("none", "")), "");
  EXPECT_EQ(ReadFileBytes(WriteGzip("none.gz", "")), "");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 6);
  EXPECT_NE(ErrorOf([&] {
              ReadFileBytes(path);
            }).find("byte 5000: cannot be read on: unexpected end of file"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] {
              ReadFileBytes(Write("x.gz", "\x1f\x8bzz"));
            }).find("byte 0: cannot be read on: "),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { ReadFileBytes(folder_ / "none.x"); }), "");
  EXPECT_NE(ErrorOf([&] { ReadFileBytes(folder_.path()); }).find("regular"),
            std::string::npos);
}

TEST_F(ReadersTest, GzipInflatesToNoMoreThanIsLikely) {
  EXPECT_EQ(MostInflated(0), 0);
  EXPECT_EQ(MostInflated(1000), 1032000);
  EXPECT_EQ(MostInflated(4 << 20), int64_t{1} << 30);
  EXPECT_EQ(MostInflated(16 << 20), int64_t{200} * (16 << 20));
  EXPECT_GT(MostInflated(std::numeric_limits<int64_t>::max()), 0);
  // What a header claims is compared before memory is taken.
  const std::string claims = WriteGzip(
      "claims.gz", IdxBytes(8, {0xffff, 0xffff, 1}, std::string(9, 'a')));
  EXPECT_NE(ErrorOf([&] {
              ReadIdx(claims);
            }).find("byte 4: the dimensions [65535, 65535, 1] have more"),
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
  data = LoadTensorFile({.input = input, .files = {{"group", target}}});
  EXPECT_EQ(data->Get(1, {}).At("group").item<int64_t>(), 6);
  EXPECT_EQ(data->Column("group")[0].item<int64_t>(), 5);
  EXPECT_NE(ErrorOf([&] {
              LoadTensorFile({.input = input, .files = {{"input", target}}});
            }).find("\"input\" is there already"),
            std::string::npos);
  const std::string all = folder_ / "all.safetensors";
  WriteSafetensors(all, {{"input", at::ones({2, 1})}});
  EXPECT_NE(ErrorOf([&] {
              LoadTensorFile({.file = all, .input = input});
            }).find("input: field \"input\" is there already"),
            std::string::npos);
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
