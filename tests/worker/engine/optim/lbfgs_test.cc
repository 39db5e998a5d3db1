// SPDX-License-Identifier: Apache-2.0
// Whole loss curves are compared with Python's in tests/golden.
#include "worker/engine/optim/lbfgs.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/worker/engine/optim/valley.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

TEST(LbfgsTest, FindsTheEndOfTheValley) {
  const ValleyPoint point = StartPoint();
  Lbfgs optimizer(point, {.strong_wolfe = true});
  for (int step = 0; step < 10; ++step) {
    optimizer.Step(Valley(point, optimizer));
  }
  EXPECT_NEAR(point[0].tensor.item<double>(), 1.0, 1e-3);
  EXPECT_NEAR(point[1].tensor.item<double>(), 1.0, 1e-3);
  EXPECT_EQ(optimizer.num_steps(), 10);
}

TEST(LbfgsTest, ContinuesBitForBitFromItsState) {
  for (const bool wolfe : {false, true}) {
    const Lbfgs::Options options{
        .lr = wolfe ? 1.0 : 0.01, .max_iter = 3, .strong_wolfe = wolfe};
    const ValleyPoint point = StartPoint();
    Lbfgs whole(point, options);
    for (int step = 0; step < 3; ++step) whole.Step(Valley(point, whole));
    std::vector<NamedTensor> state;
    for (const auto& [name, tensor] : whole.State()) {
      state.push_back({name, tensor.detach().clone()});
    }
    const ValleyPoint resumed = ValleyCopyOf(point);
    Lbfgs second(resumed, options);
    second.LoadState(state);
    EXPECT_EQ(second.num_steps(), 3);
    for (int step = 0; step < 3; ++step) {
      whole.Step(Valley(point, whole));
      second.Step(Valley(resumed, second));
    }
    EXPECT_TRUE(torch::equal(point[0].tensor, resumed[0].tensor));
    EXPECT_TRUE(torch::equal(point[1].tensor, resumed[1].tensor));
  }
}

TEST(LbfgsTest, EndsWhenAStepMadeWeightsThatAreNotFinite) {
  const ValleyPoint point = StartPoint();
  Lbfgs optimizer(point, {.max_iter = 4});
  int evaluations = 0;
  const auto evaluate = [&] {
    optimizer.ZeroGrad();
    at::Tensor loss =
        point[0].tensor.square().sum() + point[1].tensor.square().sum();
    if (++evaluations > 1) loss = loss * NAN;
    loss.backward();
    return loss;
  };
  EXPECT_THROW(optimizer.Step(evaluate), Error);
}

TEST(LbfgsTest, RefusesWhatItCannotDo) {
  const ValleyPoint point = StartPoint();
  EXPECT_THROW(Lbfgs(std::vector<ParameterGroup>{{.parameters = {point[0]}},
                                                 {.parameters = {point[1]}}},
                     {}),
               Error);
  Lbfgs optimizer(point, {});
  EXPECT_TRUE(optimizer.needs_closure());
  EXPECT_THROW(optimizer.Step(), Error);
  EXPECT_THROW(optimizer.LoadState({}), Error);
  optimizer.Step(Valley(point, optimizer));
  std::vector<NamedTensor> state = optimizer.State();
  for (NamedTensor& each : state) {
    if (each.name == "d") each.tensor = torch::zeros({7});
  }
  EXPECT_THROW(optimizer.LoadState(state), Error);
}

}  // namespace
}  // namespace epochd::engine
