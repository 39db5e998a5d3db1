// SPDX-License-Identifier: Apache-2.0
//
// One step of each optimizer, over the weights of a small MLP and of a
// ResNet-18, beside torch::optim's where LibTorch has it: medians of rounds in
// turn, one thread. Prints a table with our time as a share of theirs.
//
//   optim_bench [rounds]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/optim/adagrad.h"
#include "worker/engine/optim/adam.h"
#include "worker/engine/optim/adamax.h"
#include "worker/engine/optim/lion.h"
#include "worker/engine/optim/nadam.h"
#include "worker/engine/optim/radam.h"
#include "worker/engine/optim/rmsprop.h"
#include "worker/engine/optim/sgd.h"

namespace epochd::bench {
namespace {

using engine::NamedTensor;
using Shapes = std::vector<std::vector<int64_t>>;
using Step = std::function<void()>;

Shapes MlpShapes() { return {{64, 32}, {64}, {64, 64}, {64}, {10, 64}, {10}}; }

Shapes Resnet18Shapes() {
  Shapes shapes{{64, 3, 7, 7}, {64}, {64}};
  int64_t in = 64;
  for (const int64_t out : {64, 128, 256, 512}) {
    for (int block = 0; block < 2; ++block) {
      shapes.insert(shapes.end(), {{out, in, 3, 3}, {out}, {out}});
      shapes.insert(shapes.end(), {{out, out, 3, 3}, {out}, {out}});
      if (in != out)
        shapes.insert(shapes.end(), {{out, in, 1, 1}, {out}, {out}});
      in = out;
    }
  }
  shapes.insert(shapes.end(), {{1000, 512}, {1000}});
  return shapes;
}

// Weights with gradients that stay.
std::vector<at::Tensor> MakeWeights(const Shapes& shapes) {
  std::vector<at::Tensor> weights;
  for (const auto& shape : shapes) {
    weights.push_back((at::randn(shape) * 0.1).requires_grad_());
    weights.back().mutable_grad() = at::randn(shape) * 0.01;
  }
  return weights;
}

template <class T>
Step Ours(const Shapes& shapes, typename T::Options options) {
  std::vector<NamedTensor> named;
  for (const at::Tensor& each : MakeWeights(shapes)) {
    named.push_back({std::to_string(named.size()), each});
  }
  const auto optimizer = std::make_shared<T>(named, options);
  return [optimizer] { optimizer->Step(); };
}

template <class T, class Options>
Step Theirs(const Shapes& shapes, const Options& options) {
  const auto optimizer = std::make_shared<T>(MakeWeights(shapes), options);
  return [optimizer] { optimizer->step(); };
}

double Microseconds(const Step& step, int64_t steps) {
  const auto began = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < steps; ++i) step();
  const std::chrono::duration<double, std::micro> lasted =
      std::chrono::steady_clock::now() - began;
  return lasted.count() / static_cast<double>(steps);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Case {
  std::string name;
  Step ours;
  Step theirs;  // empty: LibTorch has none
};

std::vector<Case> MakeCases(const Shapes& shapes) {
  namespace optim = torch::optim;
  return {
      {"SGD momentum", Ours<engine::Sgd>(shapes, {.lr = 1e-6, .momentum = 0.9}),
       Theirs<optim::SGD>(shapes, optim::SGDOptions(1e-6).momentum(0.9))},
      {"Adam", Ours<engine::Adam>(shapes, {.lr = 1e-6}),
       Theirs<optim::Adam>(shapes, optim::AdamOptions(1e-6))},
      {"AdamW",
       Ours<engine::Adam>(
           shapes,
           {.lr = 1e-6, .weight_decay = 0.01, .decoupled_weight_decay = true}),
       Theirs<optim::AdamW>(shapes, optim::AdamWOptions(1e-6))},
      {"Adagrad", Ours<engine::Adagrad>(shapes, {.lr = 1e-6}),
       Theirs<optim::Adagrad>(shapes, optim::AdagradOptions(1e-6))},
      {"RMSprop", Ours<engine::Rmsprop>(shapes, {.lr = 1e-6}),
       Theirs<optim::RMSprop>(shapes, optim::RMSpropOptions(1e-6))},
      {"RMSprop momentum, centered",
       Ours<engine::Rmsprop>(shapes,
                             {.lr = 1e-6, .momentum = 0.9, .centered = true}),
       Theirs<optim::RMSprop>(
           shapes, optim::RMSpropOptions(1e-6).momentum(0.9).centered(true))},
      {"NAdam", Ours<engine::Nadam>(shapes, {{.lr = 1e-6}}), {}},
      {"RAdam", Ours<engine::Radam>(shapes, {.lr = 1e-6}), {}},
      {"Adamax", Ours<engine::Adamax>(shapes, {.lr = 1e-6}), {}},
      {"Lion", Ours<engine::Lion>(shapes, {.lr = 1e-6}), {}},
  };
}

void Compare(const char* title, const Shapes& shapes, int rounds,
             int64_t steps) {
  std::printf("%s\n%-28s %10s %10s %7s\n", title, "", "ours us", "theirs us",
              "ratio");
  for (const Case& each : MakeCases(shapes)) {
    std::vector<double> ours;
    std::vector<double> theirs;
    Microseconds(each.ours, steps);
    if (each.theirs) Microseconds(each.theirs, steps);
    for (int round = 0; round < rounds; ++round) {
      ours.push_back(Microseconds(each.ours, steps));
      if (each.theirs) theirs.push_back(Microseconds(each.theirs, steps));
    }
    if (theirs.empty()) {
      std::printf("%-28s %10.1f %10s %7s\n", each.name.c_str(), Median(ours),
                  "-", "-");
    } else {
      std::printf("%-28s %10.1f %10.1f %7.2f\n", each.name.c_str(),
                  Median(ours), Median(theirs), Median(ours) / Median(theirs));
    }
  }
}

}  // namespace
}  // namespace epochd::bench

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  at::set_num_threads(1);
  epochd::bench::Compare("MLP 32-64-64-10", epochd::bench::MlpShapes(), rounds,
                         1000);
  epochd::bench::Compare("ResNet-18", epochd::bench::Resnet18Shapes(), rounds,
                         3);
}
