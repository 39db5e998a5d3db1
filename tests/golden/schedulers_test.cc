// SPDX-License-Identifier: Apache-2.0
//
// Learning rates are bit-equal to Python's over 200 epochs.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "tests/golden/golden.h"
#include "worker/engine/optim/sgd.h"
#include "worker/engine/schedule/plateau.h"
#include "worker/engine/schedule/recursive.h"

namespace epochd::engine {
namespace {

using Make = std::function<std::unique_ptr<LrScheduler>()>;

template <class T, class... Arguments>
Make With(Arguments... arguments) {
  return [arguments...] { return std::make_unique<T>(arguments...); };
}

std::map<std::string, Make> Schedulers() {
  using Plateau = PlateauScheduler::Options;
  return {
      {"step", With<StepScheduler>(7, 0.7)},
      {"multi_step",
       With<MultiStepScheduler>(std::vector<int64_t>{5, 30, 30, 120}, 0.3)},
      {"exponential", With<ExponentialScheduler>(0.97)},
      {"constant", With<ConstantScheduler>(1.0 / 3.0, 5)},
      {"cosine", With<CosineAnnealingScheduler>(30, 0.0)},
      {"cosine_eta_min", With<CosineAnnealingScheduler>(23, 1e-4)},
      {"cosine_one", With<CosineAnnealingScheduler>(1, 0.01)},
      {"plateau",
       With<PlateauScheduler>(Plateau{.factor = 0.5, .patience = 3})},
      {"plateau_max", With<PlateauScheduler>(Plateau{.maximize = true,
                                                     .factor = 0.7,
                                                     .patience = 5,
                                                     .threshold = 0.01,
                                                     .absolute_threshold = true,
                                                     .cooldown = 4,
                                                     .min_lr = 1e-3})},
      {"plateau_max_rel",
       With<PlateauScheduler>(Plateau{
           .maximize = true, .patience = 2, .cooldown = 1, .eps = 1e-4})},
      {"plateau_min_abs",
       With<PlateauScheduler>(Plateau{.factor = 0.9,
                                      .patience = 0,
                                      .threshold = 0.02,
                                      .absolute_threshold = true})},
  };
}

// Each scheduler and its optimizer are replaced half way by ones restored from
// the state, written and read as JSON, so the round trip is shown to be exact.
TEST(SchedulersTest, BitEqualToPythonsAlsoAcrossARestart) {
  const nlohmann::json recorded = golden::Read("schedulers");
  std::vector<double> metrics;
  for (const nlohmann::json& metric : recorded["metrics"]) {
    metrics.push_back(metric.is_string() ? std::nan("") : metric.get<double>());
  }
  ASSERT_EQ(metrics.size(), 200u);
  const std::map<std::string, Make> schedulers = Schedulers();
  ASSERT_EQ(schedulers.size(), recorded["rates"].size());
  for (const auto& [name, make] : schedulers) {
    SCOPED_TRACE(name);
    const std::vector<double> rates = golden::Doubles(recorded["rates"][name]);
    auto optimizer = std::make_unique<Sgd>(std::vector<NamedTensor>{},
                                           Sgd::Options{.lr = 0.1});
    auto scheduler = make();
    scheduler->Start(*optimizer);
    EXPECT_EQ(optimizer->lr(), rates[0]);
    for (size_t epoch = 0; epoch < metrics.size(); ++epoch) {
      if (epoch == 77) {
        const double lr = optimizer->lr();
        const std::string state = scheduler->State().dump();
        optimizer = std::make_unique<Sgd>(std::vector<NamedTensor>{},
                                          Sgd::Options{.lr = 0.1});
        scheduler = make();
        scheduler->Start(*optimizer);
        scheduler->LoadState(nlohmann::ordered_json::parse(state));
        optimizer->set_lr(lr);
      }
      scheduler->Step(*optimizer, metrics[epoch]);
      EXPECT_EQ(optimizer->lr(), rates[epoch + 1]) << "epoch " << epoch;
    }
  }
}

}  // namespace
}  // namespace epochd::engine
