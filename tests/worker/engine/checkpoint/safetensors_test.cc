// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/safetensors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

std::string File(const TempFolder& folder, const std::string& header,
                 const std::string& data) {
  const std::string path = folder / "file.safetensors";
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 8; ++i) {
    file << static_cast<char>((header.size() >> (8 * i)) & 0xff);
  }
  file << header << data;
  return path;
}

TEST(SafetensorsTest, BringsBackEveryTypeAndShape) {
  const TempFolder folder;
  std::vector<NamedTensor> tensors;
  for (at::ScalarType type :
       {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
        at::kShort, at::kChar, at::kByte, at::kBool}) {
    tensors.push_back(
        {c10::toString(type), at::arange(6).view({2, 3}).to(type)});
  }
  tensors.push_back({"scalar", at::scalar_tensor(1.5)});
  tensors.push_back({"empty", at::empty({0, 4})});
  tensors.push_back({"strided", at::arange(6.0).view({2, 3}).t()});
  const std::string path = folder / "a.safetensors";
  WriteSafetensors(path, tensors, {{"format", "pt"}});
  const std::vector<NamedTensor> read = ReadSafetensors(path);
  ASSERT_EQ(read.size(), tensors.size());
  for (const NamedTensor& each : tensors) {
    bool found = false;
    for (const NamedTensor& other : read) {
      if (other.name != each.name) continue;
      found = true;
      EXPECT_EQ(other.tensor.scalar_type(), each.tensor.scalar_type());
      EXPECT_TRUE(other.tensor.equal(each.tensor)) << each.name;
    }
    EXPECT_TRUE(found) << each.name;
  }
}

TEST(SafetensorsTest, LaysOutTheFileAsPythonReadsIt) {
  const TempFolder folder;
  const std::string path = folder / "a.safetensors";
  WriteSafetensors(path, {{"w", at::ones({2}, at::kFloat)}});
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const size_t header = static_cast<unsigned char>(bytes[0]);
  EXPECT_EQ(header % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + header + 8);
  const Json json = Json::parse(bytes.substr(8, header));
  EXPECT_EQ(json, Json::parse(R"({"w": {"dtype": "F32", "shape": [2],
                                        "data_offsets": [0, 8]}})"));
}

TEST(SafetensorsTest, RefusesMalformedFilesWithByteAndReason) {
  struct Case {
    const char* header;
    size_t data;
    const char* reason;
  };
  const Case kCases[] = {
      {R"([])", 0, "byte 8: the header is no JSON object"},
      {R"({"a": 1,})", 0, "byte 16: the header is no JSON: "},
      {R"({"a": 1e999})", 0, "byte 8: the header is no JSON: "},
      {R"({"a": 1})", 0, "byte 9: \"a\" is no {dtype"},
      {R"({"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}})", 8,
       "byte 9: \"a\" has type \"C64\""},
      {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})", 4,
       "another size"},
      {R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", 4,
       "is no {dtype"},
      {R"({"a": {"dtype": "F32", "shape": [4611686018427387904, 4],
           "data_offsets": [0, 0]}})",
       0, "is no {dtype"},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", 8,
       "byte 9: \"a\" begins at 4"},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
           "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
       4, "byte 81: \"b\" begins at 0"},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", 8,
       ": has 8 bytes of data; the header tells of 4"},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
           "a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
       8, "byte 81: \"a\" is there twice"},
  };
  for (const Case& each : kCases) {
    const TempFolder folder;
    const std::string path =
        File(folder, each.header, std::string(each.data, '\0'));
    try {
      ReadSafetensors(path);
      ADD_FAILURE() << "accepted: " << each.header;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(each.reason), std::string::npos)
          << each.header << " gave " << message;
      EXPECT_EQ(message.find("safetensors file \"" + path + "\": byte "), 0)
          << message;
    }
  }
}

TEST(SafetensorsTest, RefusesAFileThatWasCutOffAnywhere) {
  const std::string good =
      PackTensors({{"a", at::arange(3)}, {"b", at::ones({2, 2})}});
  ASSERT_EQ(UnpackTensors("x", good).size(), 2);
  for (size_t size = 0; size < good.size(); ++size) {
    try {
      UnpackTensors("x", std::string_view(good).substr(0, size));
      ADD_FAILURE() << size;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("safetensors file \"x\": byte "),
                0)
          << error.what();
    }
  }
}

TEST(SafetensorsTest, GivesUnsignedNumbersInWiderTypes) {
  const TempFolder folder;
  const auto read = [&](const std::string& dtype, const std::string& data) {
    return ReadSafetensors(File(folder,
                                (R"({"a": {"dtype": ")" + dtype +
                                 R"(", "shape": [1], "data_offsets": [0, )" +
                                 std::to_string(data.size()) + "]}}")
                                    .c_str(),
                                data))
        .front()
        .tensor;
  };
  EXPECT_TRUE(at::equal(read("U16", "\xfe\xff"),
                           at::tensor({0xfffe}, at::kInt)));
  EXPECT_TRUE(at::equal(read("U32", "\xfe\xff\xff\xff"),
                           at::tensor({int64_t{0xfffffffe}})));
  EXPECT_TRUE(at::equal(read("U64", std::string("\5\0\0\0\0\0\0\0", 8)),
                           at::tensor({int64_t{5}})));
  EXPECT_THROW(read("U64", std::string(8, '\xff')), Error);
}

TEST(SafetensorsTest, RefusesAHeaderLongerThanTheFile) {
  const TempFolder folder;
  const std::string path = folder / "a.safetensors";
  std::ofstream(path, std::ios::binary) << std::string(8, '\x7f');
  EXPECT_THROW(ReadSafetensors(path), Error);
}

TEST(SafetensorsTest, KnowsWhatTorchSaveWrites) {
  const TempFolder folder;
  const std::string path = folder / "a.pt";
  const std::string zip("PK\3\4\0\0\10\10", 8);
  const std::string pickle = "\200\2\212\12l\374\234F";
  for (const std::string& start : {zip, pickle}) {
    std::ofstream(path, std::ios::binary) << start << std::string(99, 'x');
    try {
      ReadSafetensors(path);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("torch.save"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace epochd::engine
