// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/batch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

TEST(BatchTest, KeepsFieldsInOrderAndReplacesInPlace) {
  Batch batch{{"input", at::ones({2, 3})}, {"target", at::zeros({2})}};
  batch.Set("output", at::ones({2}));
  batch.Set("input", at::zeros({4, 3}));
  std::string names;
  for (const auto& [name, value] : batch) names += name + " ";
  EXPECT_EQ(names, "input target output ");
  EXPECT_EQ(batch.Size(), 4);
  EXPECT_TRUE(batch.Erase("target"));
  EXPECT_FALSE(batch.Erase("target"));
}

TEST(BatchTest, NamesTheFieldsThatAreThereWhenOneIsMissing) {
  const Batch batch{{"input", at::ones({2})}};
  try {
    batch.At("inputs");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"input\""), std::string::npos);
  }
  EXPECT_EQ(batch.Find("inputs"), nullptr);
}

TEST(BatchTest, CopiesHandlesNotData) {
  const Batch batch{{"input", at::ones({2})}};
  const Batch same = batch.To(c10::Device(c10::kCPU));
  EXPECT_EQ(same.At("input").data_ptr(), batch.At("input").data_ptr());
}

TEST(BatchTest, StacksSamplesAndNamesTheOneThatDiffers) {
  const std::vector<Batch> samples = {{{"input", at::ones({3})}},
                                      {{"input", at::zeros({3})}}};
  const Batch batch = Stack(samples);
  EXPECT_EQ(batch.At("input").sizes(), (at::IntArrayRef{2, 3}));
  try {
    Stack({{{"input", at::ones({3})}}, {{"input", at::ones({4})}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sample 1"), std::string::npos);
  }
  const std::vector<int64_t> indices = {7, 40};
  try {
    Stack({{{"input", at::ones({3})}}, {{"input", at::ones({4})}}}, indices);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("sample 40 has shape [4], sample 7 [3]"),
        std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace epochd::engine
