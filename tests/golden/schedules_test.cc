// SPDX-License-Identifier: Apache-2.0
//
// Learning rates and momenta are bit-equal to those of torch and MMEngine over
// 200 steps, with each scheduler as job files write it.
#include "worker/engine/loop/schedules.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <memory>

#include "catalogue/catalogue.h"
#include "tests/golden/golden.h"

namespace epochd::engine {
namespace {

constexpr int64_t kSteps = 200;
constexpr int64_t kBatchesPerEpoch = 4;

// A value, or "xn" for n further ones equal to it.
std::vector<double> Expand(const nlohmann::json& runs) {
  std::vector<double> values;
  for (const nlohmann::json& each : runs) {
    if (each.is_string()) {
      const int64_t times = std::stoll(each.get<std::string>().substr(1));
      const double last = values.back();
      values.insert(values.end(), static_cast<size_t>(times), last);
    } else {
      values.push_back(each.get<double>());
    }
  }
  return values;
}

// Two groups, the second one of a quarter of the rate.
std::shared_ptr<Optimizer> MakeOptimizer(const std::string& type) {
  catalogue::Json job = {
      {"type", type},
      {"lr", 0.1},
      {"parameter_groups", {{{"match", "second"}, {"lr", 0.025}}}}};
  if (type == "SGD") job["momentum"] = 0.9;
  return golden::BuildOptimizer(
      job, {{"first", torch::zeros({1}).requires_grad_()},
            {"second", torch::zeros({1}).requires_grad_()}});
}

class Rehearsal {
 public:
  explicit Rehearsal(const nlohmann::json& recorded)
      : optimizer_(MakeOptimizer(recorded["optimizer"])) {
    const catalogue::Json job = catalogue::Json::parse(recorded["job"].dump());
    std::vector<Schedules::Entry> entries;
    bool converts = false;
    for (const auto& each :
         job.is_array() ? job : catalogue::Json::array({job})) {
      entries.push_back({"", golden::BuildScheduler(each), "scheduler"});
      converts |= each.value("convert_to_iter_based", false);
    }
    by_batch_ = converts;
    schedules_ = Schedules(std::move(entries));
    schedules_.Bind({{"optimizer", optimizer_}},
                    {.epochs = converts ? kSteps / kBatchesPerEpoch : kSteps,
                     .batches_per_epoch = kBatchesPerEpoch,
                     .batches = kSteps});
    schedules_.Start();
  }

  void Step(double metric) {
    const Scores scores{{"score", metric}};
    if (by_batch_) {
      schedules_.AfterBatch();
    } else {
      schedules_.AfterEpoch({.scores = scores, .monitored = metric});
    }
  }
  Optimizer& optimizer() { return *optimizer_; }
  Schedules& schedules() { return schedules_; }

 private:
  std::shared_ptr<Optimizer> optimizer_;
  Schedules schedules_;
  bool by_batch_ = false;
};

void ExpectSettings(const Optimizer& optimizer, const nlohmann::json& recorded,
                    size_t step) {
  if (recorded.contains("lr")) {
    EXPECT_EQ(optimizer.lr(), Expand(recorded["lr"])[step]) << step;
  }
  if (recorded.contains("momentum")) {
    EXPECT_EQ(optimizer.momentum(), Expand(recorded["momentum"])[step]) << step;
  }
}

// Schedulers and optimizer are replaced half way by ones restored from what a
// checkpoint holds, written and read as JSON, so the round trip is exact.
TEST(SchedulesTest, BitEqualToPythonsAlsoAcrossARestart) {
  const nlohmann::json file = golden::Read("schedules");
  std::vector<double> metrics;
  for (const nlohmann::json& metric : file["metrics"]) {
    metrics.push_back(metric.is_string() ? std::nan("") : metric.get<double>());
  }
  ASSERT_EQ(metrics.size(), static_cast<size_t>(kSteps));
  ASSERT_EQ(file["cases"].size(), 54u);
  for (const auto& [name, recorded] : file["cases"].items()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(recorded.contains("lr") || recorded.contains("momentum"));
    auto run = std::make_unique<Rehearsal>(recorded);
    ExpectSettings(run->optimizer(), recorded, 0);
    for (size_t step = 0; step < metrics.size(); ++step) {
      if (step == 77) {
        const std::string settings = run->optimizer().Settings().dump();
        const std::string state = run->schedules().State().dump();
        run = std::make_unique<Rehearsal>(recorded);
        EXPECT_EQ(RestoreOptimizer(run->optimizer(),
                                   nlohmann::ordered_json::parse(settings),
                                   run->optimizer().State()),
                  "");
        run->schedules().LoadState(nlohmann::ordered_json::parse(state));
      }
      run->Step(metrics[step]);
      ExpectSettings(run->optimizer(), recorded, step + 1);
    }
    EXPECT_EQ(run->optimizer().groups()[1].lr,
              recorded["last"][0].get<double>());
    EXPECT_EQ(run->optimizer().groups()[1].momentum,
              recorded["last"][1].get<double>());
  }
}

}  // namespace
}  // namespace epochd::engine
