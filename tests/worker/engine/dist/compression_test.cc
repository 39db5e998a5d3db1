// SPDX-License-Identifier: Apache-2.0
//
// Compressed gradients against those of torch.distributed's own hooks
// (tests/golden/record_ddp.py).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/dist/ranks.h"
#include "worker/engine/checkpoint/safetensors.h"

namespace epochd::engine {
namespace {

std::string Golden(const std::string& name) {
  const char* source = getenv("EPOCHD_TEST_SOURCE_DIR");
  return std::string(source != nullptr ? source : ".") + "/tests/golden/" +
         name;
}

const std::vector<std::vector<int64_t>> kShapes = {{12, 10}, {12}, {9, 8}};

// As fill() of record_ddp.py.
at::Tensor Fill(const std::vector<int64_t>& shape, uint32_t stream) {
  at::Tensor filled = at::empty(shape, at::kDouble);
  double* values = filled.data_ptr<double>();
  for (int64_t i = 0; i < filled.numel(); ++i) {
    uint32_t h = static_cast<uint32_t>(i + 1) * 2654435761u + stream * 40503u;
    h ^= h >> 16;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    h ^= h >> 16;
    values[i] = static_cast<double>(h) / 4294967296.0 - 0.5;
  }
  return filled.to(at::kFloat);
}

std::map<std::string, at::Tensor> Recorded() {
  std::map<std::string, at::Tensor> recorded;
  for (NamedTensor& each : ReadSafetensors(Golden("ddp.safetensors"))) {
    recorded[each.name] = each.tensor;
  }
  return recorded;
}

// Runs the recorded steps from `first` on in two ranks; exit code 0 when all
// gradients of both ranks agree to this relative difference (0: to the bit).
std::vector<int> Compare(const std::string& name, const SyncOptions& sync,
                         int first, double tolerance) {
  std::ifstream file(Golden("ddp.json"));
  const Json about = Json::parse(file);
  return RunRanks(2, [&](const GlooOptions& options) {
    auto recorded = Recorded();
    auto communicator = MakeGlooCommunicator(options);
    std::vector<NamedTensor> parameters;
    for (size_t i = 0; i < kShapes.size(); ++i) {
      parameters.push_back({"weights." + std::to_string(i),
                            at::zeros(kShapes[i]).set_requires_grad(true)});
    }
    Json state;
    if (first > 0) {
      state = {{"regrouped", true},
               {"buckets", Json::array({about["orders"][name]})},
               {"power_sgd", {{"steps", first}}}};
    }
    auto made = communicator->SyncGradients(parameters, {}, sync, state);
    if (first > 0) {
      made->LoadOwnTensors(
          {{"power_sgd.0.error",
            recorded.at(name + ".error." + std::to_string(options.rank))},
           {"power_sgd.0.p", recorded.at(name + ".p")},
           {"power_sgd.0.q", recorded.at(name + ".q")}});
    }
    for (int step = first; step < about["steps"].get<int>(); ++step) {
      at::Tensor total = at::zeros({});
      for (size_t i = 0; i < kShapes.size(); ++i) {
        parameters[i].tensor.mutable_grad().reset();
        const auto stream =
            static_cast<uint32_t>(1000 * options.rank + 10 * step) +
            static_cast<uint32_t>(i);
        total = total + (parameters[i].tensor * Fill(kShapes[i], stream)).sum();
      }
      made->BeforeForward(true);
      made->Backward(total, true);
      for (size_t i = 0; i < kShapes.size(); ++i) {
        const at::Tensor expected = recorded.at(
            name + "." + std::to_string(step) + "." + std::to_string(i));
        const at::Tensor got = parameters[i].tensor.grad();
        const bool agrees = tolerance == 0
                                ? got.equal(expected)
                                : at::allclose(got, expected, tolerance, 1e-6);
        if (agrees) continue;
        std::fprintf(stderr, "%s: step %d, parameter %zu: off by %g\n",
                     name.c_str(), step, i,
                     (got - expected).abs().max().item<double>());
        return 1;
      }
    }
    communicator->Barrier();
    return 0;
  });
}

const std::vector<int> kBothDone = {0, 0};

TEST(CompressionTest, WithoutItGradientsAreThoseOfTorchBitForBit) {
  EXPECT_EQ(Compare("none", {}, 0, 0), kBothDone);
}

TEST(CompressionTest, Fp16IsTorchsBitForBit) {
  EXPECT_EQ(Compare("fp16", {.compression = Compression::kFp16}, 0, 0),
            kBothDone);
}

TEST(CompressionTest, Bf16IsTorchsBitForBit) {
  EXPECT_EQ(Compare("bf16", {.compression = Compression::kBf16}, 0, 0),
            kBothDone);
}

TEST(CompressionTest, PowerSgdGoesOnAsTorchs) {
  for (int rank : {1, 3}) {
    SyncOptions options{.compression = Compression::kPowerSgd};
    options.power_sgd = {
        .rank = rank, .start_step = 3, .min_compression_rate = 1, .epsilon = 0};
    EXPECT_EQ(Compare("powersgd" + std::to_string(rank), options, 4, 1e-4),
              kBothDone)
        << rank;
  }
}

}  // namespace
}  // namespace epochd::engine
