// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/mapped_file.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/temp_folder.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/data/npy.h"
#include "worker/engine/data/tensor_file.h"

namespace epochd::engine {
namespace {

constexpr int kLostFile = 71;
// More than a page after the first one, and than what is read.
constexpr int64_t kCount = 400000;

// Names the folder of a death test to the process that it starts, which runs
// the test from its beginning and expects the same paths.
constexpr char kFolder[] = "EPOCHD_MAPPED_FILE_TEST";

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* inherited = getenv(kFolder)) {
      folder_ = inherited;
      return;
    }
    own_.emplace();
    folder_ = own_->path();
    setenv(kFolder, own_->path().c_str(), 1);
  }
  void TearDown() override {
    if (own_) unsetenv(kFolder);
  }

  // float32 [count] of 0, 1, 2, ...; values begin at byte 128.
  std::string WriteNpy(const std::string& name, int64_t count = kCount,
                       const std::string& type = "<f4",
                       const std::string& shape = "") {
    std::string header =
        "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" +
        (shape.empty() ? std::to_string(count) + "," : shape) + "), }";
    header.resize(117, ' ');
    header += '\n';
    std::string bytes = std::string("\x93NUMPY\x01\0\x76\0", 10) + header;
    const at::Tensor values = at::arange(count, at::kFloat);
    bytes.append(static_cast<const char*>(values.const_data_ptr()),
                 values.nbytes());
    return Write(name, bytes);
  }
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string Bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static bool IsMapped(const std::string& path) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.ends_with(path)) return true;
    }
    return false;
  }

  std::optional<TempFolder> own_;
  std::filesystem::path folder_;
};

TEST_F(MappedFileTest, BigArraysAreTheFilesPagesForAsLongAsTheyAreUsed) {
  const std::string path = WriteNpy("a.npy");
  at::Tensor array = ReadNpy(path);
  EXPECT_TRUE(at::equal(array, at::arange(kCount, at::kFloat)));
  EXPECT_TRUE(IsMapped(path));
  at::Tensor part = array.narrow(0, 1000, 5);
  array.reset();
  EXPECT_TRUE(IsMapped(path));
  EXPECT_EQ(part[0].item<float>(), 1000);
  part.reset();
  EXPECT_FALSE(IsMapped(path));
}

TEST_F(MappedFileTest, ChangingATensorChangesNoFile) {
  const std::string path = WriteNpy("a.npy");
  const std::string before = Bytes(path);
  at::Tensor array = ReadNpy(path);
  array.mul_(2);
  EXPECT_EQ(array[3].item<float>(), 6);
  EXPECT_EQ(Bytes(path), before);
}

TEST_F(MappedFileTest, WhatIsSmallOrLaidOutOtherwiseIsRead) {
  const std::string small = WriteNpy("small.npy", 100);
  const at::Tensor few = ReadNpy(small);
  EXPECT_FALSE(IsMapped(small));
  std::filesystem::resize_file(small, 0);
  EXPECT_TRUE(at::equal(few, at::arange(100, at::kFloat)));

  const std::string big_endian = WriteNpy("big.npy", kCount, ">f4");
  const at::Tensor turned = ReadNpy(big_endian);
  EXPECT_FALSE(IsMapped(big_endian));
  EXPECT_EQ(turned[0].item<float>(), 0);

  // A byte shifts what follows it by one.
  const at::Tensor values = at::arange(kCount, at::kFloat);
  const std::string shifted = folder_ / "shifted.safetensors";
  WriteSafetensors(shifted,
                   {{"byte", at::ones({1}, at::kByte)}, {"values", values}});
  const std::vector<NamedTensor> tensors = MapSafetensors(shifted);
  EXPECT_FALSE(IsMapped(shifted));
  EXPECT_TRUE(at::equal(tensors[1].tensor, values));
}

TEST_F(MappedFileTest, SafetensorsOfADataSetAreMappedThoseOfWeightsRead) {
  const std::string path = folder_ / "a.safetensors";
  const at::Tensor input = at::arange(kCount, at::kFloat).view({-1, 4});
  const at::Tensor target = at::arange(kCount / 4);
  WriteSafetensors(path, {{"input", input}, {"target", target}});
  const auto dataset = LoadTensorFile({.file = path});
  EXPECT_TRUE(IsMapped(path));
  const std::vector<int64_t> rows = {7, 99999, 0};
  const Batch batch = dataset->GetBatch(rows, {});
  EXPECT_TRUE(
      at::equal(batch.At("input"), input.index_select(0, at::tensor(rows))));
  EXPECT_TRUE(at::equal(batch.At("target"), at::tensor(rows)));

  const std::string weights = folder_ / "weights.safetensors";
  std::filesystem::copy_file(path, weights);
  const std::vector<NamedTensor> read = ReadSafetensors(weights);
  EXPECT_FALSE(IsMapped(weights));
  EXPECT_TRUE(at::equal(read[0].tensor, input));
}

// In processes of their own: a handler is installed once.
class MappedFileDeathTest : public MappedFileTest {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    MappedFileTest::SetUp();
  }
};

TEST_F(MappedFileDeathTest, AShortenedFileEndsTheProcessAndIsNamed) {
  const std::string path = WriteNpy("a.npy");
  const std::string other = WriteNpy("b.npy");
  EXPECT_EXIT(
      {
        EndUnreadableMappings(kLostFile);
        const at::Tensor before = ReadNpy(other);
        const at::Tensor array = ReadNpy(path);
        const at::Tensor after = ReadNpy(other);
        std::filesystem::resize_file(path, 4096);
        array[1].item<float>();  // is there still
        array[300000].item<float>();
      },
      testing::ExitedWithCode(kLostFile),
      "file \"" + path + "\": cannot be read at byte 1200128, while");
}

TEST_F(MappedFileDeathTest, WithoutACodeItIsToldBeforeTheSignalKills) {
  const std::string path = WriteNpy("a.npy");
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_DFL);  // sanitizers have a handler
        const at::Tensor array = ReadNpy(path);
        std::filesystem::resize_file(path, 4096);
        array[300000].item<float>();
      },
      testing::KilledBySignal(SIGBUS), "cannot be read at byte 1200128");
}

// What others map, or send, is theirs.
TEST_F(MappedFileDeathTest, OtherBusErrorsGoToTheHandlerBefore) {
  const std::string path = WriteNpy("a.npy");
  EXPECT_EXIT(
      {
        signal(SIGBUS, [](int) { _exit(5); });
        EndUnreadableMappings(kLostFile);
        const at::Tensor array = ReadNpy(path);
        raise(SIGBUS);
      },
      testing::ExitedWithCode(5), "");
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_DFL);
        EndUnreadableMappings(kLostFile);
        const at::Tensor array = ReadNpy(path);
        raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "^$");
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_IGN);
        EndUnreadableMappings(kLostFile);
        const at::Tensor array = ReadNpy(path);
        raise(SIGBUS);  // ignored, and the handler stays
        std::filesystem::resize_file(path, 4096);
        array[300000].item<float>();
      },
      testing::ExitedWithCode(kLostFile), "cannot be read at byte 1200128");
}

}  // namespace
}  // namespace epochd::engine
