// SPDX-License-Identifier: Apache-2.0
//
// State dicts that Python saved give Python's outputs (record_state_dicts.py).
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/golden/golden.h"
#include "tests/temp_folder.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/checkpoint/sha256.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::engine {
namespace {

nlohmann::ordered_json RecordedStates() {
  std::ifstream file(golden::Path("state_dicts.json"));
  return nlohmann::ordered_json::parse(file);
}

std::vector<std::string> StateNames() {
  std::vector<std::string> names;
  const nlohmann::ordered_json recorded = RecordedStates();
  for (const auto& [name, each] : recorded.items()) names.push_back(name);
  return names;
}

// The file that Python's safetensors makes of a filled model's tensors: wide
// types first, then by name. Its SHA-256 says whether it is the same.
std::string PythonsFile(Model& model) {
  golden::FillModel(model);
  std::vector<NamedTensor> tensors = model.Parameters();
  for (NamedTensor& each : model.Buffers()) tensors.push_back(std::move(each));
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    const size_t a_size = a.tensor.element_size();
    const size_t b_size = b.tensor.element_size();
    return a_size != b_size ? a_size > b_size : a.name < b.name;
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  size_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const size_t begin = end;
    end += tensor.nbytes();
    header[name] = {
        {"dtype", tensor.scalar_type() == at::kLong ? "I64" : "F32"},
        {"shape", tensor.sizes().vec()},
        {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  std::string bytes(sizeof(size), '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  bytes += text;
  bytes.reserve(bytes.size() + end);
  for (const auto& [name, tensor] : tensors) {
    bytes.append(static_cast<const char*>(tensor.const_data_ptr()),
                 tensor.nbytes());
  }
  return bytes;
}

class StateDictsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(StateDictsTest, OfPythonLoadStrictlyAndGiveItsOutputs) {
  const nlohmann::ordered_json recorded = RecordedStates()[GetParam()];
  std::string path = golden::Path("models/" + GetParam() + ".safetensors");
  const TempFolder folder;
  if (recorded.contains("sha256")) {
    const std::string bytes = PythonsFile(*golden::BuildModel(recorded["job"]));
    Sha256 sha;
    sha.Update(bytes.data(), bytes.size());
    ASSERT_EQ(sha.Finish(), recorded["sha256"].get<std::string>());
    path = folder.Write("weights", bytes);
  }
  const std::shared_ptr<Model> model = golden::BuildModel(recorded["job"]);
  EXPECT_TRUE(LoadModel(*model, ReadSafetensors(path)).fits());

  model->SetTraining(false);
  const torch::NoGradGuard no_grad;
  const std::string field =
      recorded["job"]["type"] == "DcGenerator" ? "noise" : "input";
  const at::Tensor input =
      golden::Fill(recorded["input"].get<std::vector<int64_t>>(), 30) * 2;
  at::Tensor output = model->Forward({{field, input}}).At("output").flatten();
  output = output.slice(0, 0, static_cast<int64_t>(recorded["output"].size()));
  golden::ExpectValues(output, recorded["output"], 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Models, StateDictsTest,
                         ::testing::ValuesIn(StateNames()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace epochd::engine
