// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "worker/engine/registry/build_scope.h"
#include "worker/engine/registry/builtin.h"

namespace epochd::engine::golden {
namespace {

const Registry& Builtins() {
  static const Registry registry = [] {
    Registry filled;
    AddBuiltins(filled);
    filled.Freeze();
    return filled;
  }();
  return registry;
}

}  // namespace

std::shared_ptr<Optimizer> BuildOptimizer(
    const nlohmann::ordered_json& job,
    const std::vector<NamedTensor>& targets) {
  const nlohmann::ordered_json nothing = nlohmann::ordered_json::object();
  BuildScope scope(Builtins(), nothing, "experiment");
  scope.SetOptimizerTargets("", targets);
  return scope.MakeAs<Optimizer>(job, "experiment.optimizer");
}

std::shared_ptr<Scheduler> BuildScheduler(const nlohmann::ordered_json& job) {
  const nlohmann::ordered_json nothing = nlohmann::ordered_json::object();
  BuildScope scope(Builtins(), nothing, "experiment");
  return scope.MakeAs<Scheduler>(job, "experiment.lr_scheduler");
}

std::shared_ptr<Loss> BuildLoss(const nlohmann::json& job) {
  const nlohmann::ordered_json nothing = nlohmann::ordered_json::object();
  BuildScope scope(Builtins(), nothing, "experiment");
  return scope.MakeAs<Loss>(nlohmann::ordered_json(job), "experiment.loss");
}

std::shared_ptr<Metric> BuildMetric(const nlohmann::json& job) {
  const nlohmann::ordered_json nothing = nlohmann::ordered_json::object();
  BuildScope scope(Builtins(), nothing, "experiment");
  return scope.MakeAs<Metric>(nlohmann::ordered_json(job),
                              "experiment.metrics");
}

std::shared_ptr<Transform> BuildTransform(const nlohmann::json& job) {
  const nlohmann::ordered_json nothing = nlohmann::ordered_json::object();
  BuildScope scope(Builtins(), nothing, "experiment");
  return scope.MakeAs<Transform>(nlohmann::ordered_json(job),
                                 "experiment.data.train.transforms");
}

std::shared_ptr<Model> BuildModel(const nlohmann::ordered_json& job) {
  const nlohmann::ordered_json nothing = nlohmann::ordered_json::object();
  BuildScope scope(Builtins(), nothing, "experiment");
  return scope.MakeAs<Model>(job, "experiment.model");
}

std::string Path(const std::string& file) {
  const char* source = std::getenv("EPOCHD_TEST_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/tests/golden/" +
         file;
}

nlohmann::json Read(const std::string& name) {
  const std::string path = Path(name + ".json");
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return nlohmann::json::parse(file);
}

std::vector<double> Doubles(const nlohmann::json& list) {
  return list.get<std::vector<double>>();
}

at::Tensor Fill(at::IntArrayRef shape, int64_t stream) {
  at::Tensor tensor = torch::empty(shape, torch::kFloat);
  float* const values = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    auto h = static_cast<uint32_t>((i + 1) * 2654435761 + stream * 40503);
    h ^= h >> 16;
    h *= 0x85ebca6b;
    h ^= h >> 13;
    h *= 0xc2b2ae35;
    h ^= h >> 16;
    values[i] = static_cast<float>(static_cast<double>(h) / 4294967296.0 - 0.5);
  }
  return tensor;
}

void FillModel(Model& model) {
  const torch::NoGradGuard no_grad;
  std::vector<NamedTensor> tensors = model.Parameters();
  for (NamedTensor& buffer : model.Buffers()) {
    tensors.push_back(std::move(buffer));
  }
  int64_t stream = 1000;
  for (const auto& [name, tensor] : tensors) {
    ++stream;
    if (name.ends_with("num_batches_tracked")) continue;
    at::Tensor values = Fill(tensor.sizes(), stream);
    if (tensor.dim() > 1) {
      const double fan_in = static_cast<double>(tensor[0].numel());
      values = values * static_cast<float>(std::sqrt(24.0 / fan_in));
    } else if (name.ends_with("running_var") || name.ends_with("weight")) {
      values = values * 0.5 + 1.0;
    } else {
      values = values * 0.25;
    }
    tensor.copy_(values);
  }
}

std::vector<double> Values(const at::Tensor& tensor) {
  const at::Tensor flat =
      tensor.detach().to(torch::kDouble).contiguous().flatten();
  const double* data = flat.data_ptr<double>();
  return std::vector<double>(data, data + flat.numel());
}

void ExpectSums(const std::vector<NamedTensor>& tensors,
                const nlohmann::json& recorded, double tolerance) {
  ASSERT_EQ(tensors.size(), recorded.size());
  for (const auto& [name, tensor] : tensors) {
    ASSERT_TRUE(recorded.contains(name)) << name;
    const std::vector<double> expected = Doubles(recorded[name]);
    const at::Tensor exact = tensor.detach().to(torch::kDouble);
    const double squares = exact.square().sum().item<double>();
    EXPECT_NEAR(squares, expected[1], tolerance * expected[1]) << name;
    // A sum may cancel, so it is compared with what its values could give.
    const double size = std::sqrt(expected[1] * exact.numel());
    EXPECT_NEAR(exact.sum().item<double>(), expected[0], tolerance * size)
        << name;
  }
}

void ExpectValues(const at::Tensor& tensor, const nlohmann::json& recorded,
                  double tolerance) {
  const std::vector<double> values = Values(tensor);
  const std::vector<double> expected = Doubles(recorded);
  ASSERT_EQ(values.size(), expected.size());
  double greatest = 0;
  for (double value : expected) greatest = std::max(greatest, std::abs(value));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance * greatest) << i;
  }
}

}  // namespace epochd::engine::golden
