// SPDX-License-Identifier: Apache-2.0
//
// Files of arrays that numpy and safetensors wrote are read as they read them
// (record_tensors.py).
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/golden/golden.h"
#include "tests/temp_folder.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/npy.h"
#include "worker/engine/data/table/npz.h"

namespace epochd::engine {
namespace {

std::string BytesOf(const nlohmann::json& recorded) {
  const auto digits = recorded.at("bytes").get<std::string>();
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

void ExpectArrays(const std::vector<NamedTensor>& found,
                  const nlohmann::json& recorded) {
  std::map<std::string, at::Tensor> arrays;
  for (const NamedTensor& each : found) arrays[each.name] = each.tensor;
  EXPECT_EQ(arrays.size(), recorded.size());
  for (const nlohmann::json& each : recorded) {
    const auto name = each.at("name").get<std::string>();
    SCOPED_TRACE(name);
    ASSERT_TRUE(arrays.contains(name));
    const at::Tensor& array = arrays[name];
    EXPECT_EQ(c10::toString(array.scalar_type()),
              each.at("type").get<std::string>());
    ASSERT_EQ(array.sizes().vec(),
              each.at("shape").get<std::vector<int64_t>>());
    const at::Tensor flat = array.reshape(-1);
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const nlohmann::json& value = each.at("values").at(i);
      if (!flat.is_floating_point()) {
        EXPECT_EQ(flat[i].item<int64_t>(), value.get<int64_t>()) << i;
        continue;
      }
      const double expected =
          value.is_string()
              ? std::strtod(value.get<std::string>().c_str(), nullptr)
              : value.get<double>();
      const double found_value = flat[i].item<double>();
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(found_value)) << i;
      } else {
        EXPECT_EQ(found_value, expected) << i;
        EXPECT_EQ(std::signbit(found_value), std::signbit(expected)) << i;
      }
    }
  }
}

// `read` takes a path, or bytes, as each of the tests below says.
class TensorFilesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& bytes) {
    return folder_.Write("tensors", bytes);
  }
  template <class Read>
  void Check(const nlohmann::json& recorded, Read read) {
    size_t place = 0;
    for (const nlohmann::json& each : recorded) {
      SCOPED_TRACE(place++);
      if (each.contains("refused")) {
        EXPECT_THROW(read(BytesOf(each)), Error) << each.at("refused");
      } else {
        ExpectArrays(read(BytesOf(each)), each.at("arrays"));
      }
    }
  }

  const TempFolder folder_;
};

TEST_F(TensorFilesTest, OfNumpyAreReadFromMemoryAndFromFiles) {
  const nlohmann::json recorded = golden::Read("tensors").at("npy");
  EXPECT_GT(recorded.size(), 40U);
  Check(recorded, [](const std::string& bytes) -> std::vector<NamedTensor> {
    return {{"", ParseNpy(bytes, "a.npy")}};
  });
  Check(recorded, [&](const std::string& bytes) -> std::vector<NamedTensor> {
    return {{"", ReadNpy(Write(bytes))}};
  });
}

TEST_F(TensorFilesTest, OfNumpysArchivesAreRead) {
  const nlohmann::json recorded = golden::Read("tensors").at("npz");
  EXPECT_EQ(recorded.size(), 2U);
  Check(recorded,
        [&](const std::string& bytes) { return ReadNpz(Write(bytes)); });
}

TEST_F(TensorFilesTest, OfSafetensorsAreReadMappedAndUnpacked) {
  const nlohmann::json recorded = golden::Read("tensors").at("safetensors");
  EXPECT_GT(recorded.size(), 6U);
  Check(recorded, [&](const std::string& bytes) {
    return ReadSafetensors(Write(bytes));
  });
  Check(recorded,
        [&](const std::string& bytes) { return MapSafetensors(Write(bytes)); });
  Check(recorded,
        [](const std::string& bytes) { return UnpackTensors("a", bytes); });
}

}  // namespace
}  // namespace epochd::engine
