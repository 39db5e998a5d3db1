// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/table/npz.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include "tests/worker/engine/data/signal/signal_files.h"
#include "worker/engine/data/tensor_file.h"

namespace epochd::engine {
namespace {

using testing::HasSubstr;

std::string NpyOf(const std::string& descr, const std::string& shape,
                  const std::string& values) {
  std::string dict = "{'descr': '" + descr +
                     "', 'fortran_order': False, 'shape': " + shape + ", }";
  dict.append(63 - (10 + dict.size()) % 64, ' ');
  dict += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(dict.size() & 0xff);
  bytes += static_cast<char>(dict.size() >> 8);
  return bytes + dict + values;
}

class NpzTest : public SignalFiles {
 protected:
  // An archive of (name, bytes), deflated at `level`.
  std::string Zip(
      const std::vector<std::pair<std::string, std::string>>& entries,
      int level = 6) {
    const std::string path = Path("a.npz");
    zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
    for (const auto& [name, bytes] : entries) {
      zipOpenNewFileInZip(zip, name.c_str(), nullptr, nullptr, 0, nullptr, 0,
                          nullptr, level == 0 ? 0 : Z_DEFLATED, level);
      zipWriteInFileInZip(zip, bytes.data(),
                          static_cast<unsigned>(bytes.size()));
      zipCloseFileInZip(zip);
    }
    zipClose(zip, nullptr);
    return path;
  }
  std::string All(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(NpzTest, ReadsStoredAndDeflatedArrays) {
  for (int level : {0, 9}) {
    const auto arrays = ReadNpz(
        Zip({{"target.npy", NpyOf("<i8", "(2,)", std::string(16, '\1'))},
             {"input.npy", NpyOf("|u1", "(2, 3)", "abcdef")}},
            level));
    ASSERT_EQ(arrays.size(), 2);
    EXPECT_EQ(arrays[0].name, "target");
    EXPECT_EQ(arrays[0].tensor[1].item<int64_t>(), 0x0101010101010101);
    EXPECT_EQ(arrays[1].tensor[1][2].item<uint8_t>(), 'f');
  }
  const auto dataset = LoadTensorFile({.file = Path("a.npz")});
  EXPECT_EQ(dataset->Size(), 2);
}

// As mnist.npz is: parts of different sizes, and what is not read may be
// anything.
TEST_F(NpzTest, FieldsChooseArraysAndNameThem) {
  const std::string path =
      Zip({{"x_test.npy", NpyOf("|u1", "(1, 2, 2)", "abcd")},
           {"x_train.npy", NpyOf("|u1", "(2, 2, 2)", "abcdefgh")},
           {"y_train.npy", NpyOf("|u1", "(2,)", "\1\2")},
           {"notes.npy", NpyOf("|O", "(1,)", "pickle")}});
  const auto dataset = LoadTensorFile(
      {.file = path, .fields = {{"input", "x_train"}, {"target", "y_train"}}});
  ASSERT_EQ(dataset->Size(), 2);
  const Batch sample = dataset->Get(1, {});
  EXPECT_EQ(sample.At("input")[0][1].item<uint8_t>(), 'f');
  EXPECT_EQ(sample.At("target").item<uint8_t>(), 2);
  EXPECT_EQ(sample.Find("x_train"), nullptr);
  EXPECT_THAT(
      ErrorOf([&] {
        LoadTensorFile({.file = path, .fields = {{"input", "x_trian"}}});
      }),
      HasSubstr("a.npz\" has no array \"x_trian\"; it has x_test, x_train, "
                "y_train, notes"));
}

TEST_F(NpzTest, ReadsWhatNumpyWrote) {
  const auto arrays = ReadNpz(Recorded("numpy.npz"));
  ASSERT_EQ(arrays.size(), 2);
  EXPECT_EQ(arrays[0].name, "input");
  EXPECT_TRUE(
      at::equal(arrays[0].tensor, at::arange(12, at::kFloat).view({3, 4}) / 2));
  EXPECT_TRUE(at::equal(arrays[1].tensor, at::tensor({2, 0, 1}, at::kLong)));
}

TEST_F(NpzTest, ObjectArraysAndOtherEntriesAreRefused) {
  EXPECT_THAT(
      ErrorOf([&] {
        ReadNpz(Zip({{"x.npy", NpyOf("|O", "(1,)", "pickle")}}));
      }),
      HasSubstr("a.npz/x.npy\": byte 20: the header has the type \"|O\""));
  EXPECT_THAT(ErrorOf([&] {
                ReadNpz(Zip({{"x.txt", "hello"}}));
              }),
              HasSubstr("a.npz\": byte 42: entry \"x.txt\" is no .npy file"));
  const std::string one = NpyOf("|u1", "(1,)", "a");
  EXPECT_THAT(ErrorOf([&] {
                ReadNpz(Zip({{"x.npy", one}, {"x.npy", one}}));
              }),
              HasSubstr("is there twice"));
  EXPECT_THAT(ErrorOf([&] { ReadNpz(Write("a.npz", "no zip at all")); }),
              HasSubstr("is no zip archive"));
  EXPECT_THAT(ErrorOf([&] { ReadNpz(Path("none.npz")); }),
              HasSubstr("none.npz"));
}

TEST_F(NpzTest, LyingSizesAndBrokenBytesAreRefused) {
  const std::string path =
      Zip({{"x.npy", NpyOf("|u1", "(4000,)", std::string(4000, 'a'))}});
  const std::string whole = All(path);
  // In the central directory: the inflated size at 24.
  const size_t directory = whole.rfind("PK\1\2");
  std::string claims = whole;
  claims.replace(directory + 24, 4, "\xff\xff\xff\x3f", 4);
  EXPECT_THAT(ErrorOf([&] { ReadNpz(Write("b.npz", claims)); }),
              HasSubstr("b.npz\": byte " + std::to_string(directory) +
                        ": entry \"x.npy\" says that"));
  claims = whole;
  claims[directory + 24] = static_cast<char>(claims[directory + 24] + 1);
  EXPECT_THAT(ErrorOf([&] { ReadNpz(Write("b.npz", claims)); }),
              HasSubstr("entry \"x.npy\""));
  std::string broken = whole;
  broken[60] = static_cast<char>(broken[60] ^ 0x55);
  // The data begin behind 30 bytes and the name.
  EXPECT_THAT(ErrorOf([&] { ReadNpz(Write("b.npz", broken)); }),
              HasSubstr("b.npz\": byte 35: entry \"x.npy\""));
  for (size_t size = 0; size < whole.size(); size += 7) {
    const std::string cut = Write("b.npz", whole.substr(0, size));
    EXPECT_THAT(ErrorOf([&] { ReadNpz(cut); }), HasSubstr("b.npz\": byte "))
        << size;
  }
}

}  // namespace
}  // namespace epochd::engine
