// SPDX-License-Identifier: Apache-2.0
//
// Random transforms as job files name them do what torchvision's and
// torch_ecg's do when those draw the same numbers (record_draws.py).
#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <string>

#include "tests/golden/described_field.h"
#include "tests/golden/golden.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/data/transform.h"

namespace epochd::engine {
namespace {

TEST(DrawsTest, TransformsDrawAndDoWhatPythonsDo) {
  const nlohmann::json recorded = golden::Read("draws");
  std::map<std::string, at::Tensor> outputs;
  for (NamedTensor& each : ReadSafetensors(golden::Path("draws.safetensors"))) {
    outputs[each.name] = std::move(each.tensor);
  }
  EXPECT_GT(recorded.size(), 60U);
  ASSERT_EQ(recorded.size(), outputs.size());
  for (const nlohmann::json& each : recorded) {
    SCOPED_TRACE(each.dump());
    const at::Tensor field = golden::DescribedField(each.at("field"));
    Batch sample{
        {"input", field.to(each.contains("bytes") ? at::kByte : at::kFloat)}};
    Random random({each.at("seed").get<uint64_t>()});
    golden::BuildTransform(each.at("job"))->Apply(sample, random);
    const at::Tensor& output = sample.At("input");
    const at::Tensor& expected = outputs.at(each.at("name"));
    ASSERT_EQ(output.sizes(), expected.sizes());
    // Numbers drawn are of double here, of float in torch.
    EXPECT_LT((output - expected).abs().max().item<double>(), 2e-5);
  }
}

}  // namespace
}  // namespace epochd::engine
