// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/version.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace epochd::engine {
namespace {

TEST(EngineVersionTest, IsTheVersionTheProgramsAreBuiltAs) {
  EXPECT_EQ(EngineVersion(), EPOCHD_VERSION);
}

// Shows that the LibTorch that was found loads without a CUDA toolkit.
TEST(LibTorchTest, RunsTensorOperationsWithoutACudaToolkit) {
  EXPECT_EQ(torch::ones({2, 3}).sum().item<float>(), 6.0f);
}

}  // namespace
}  // namespace epochd::engine
