// SPDX-License-Identifier: Apache-2.0
//
// Time of a step of physics-informed training: Burgers' equation with a
// network 2-32-32-32-32-1 and Adam, 1024 new points inside and 256 each at the
// start and on the boundary a step. The peer is raw_pinn.py; run.py runs both.
//
//   pinn_bench [steps]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "worker/engine/dist/single.h"
#include "worker/engine/registry/builtin.h"
#include "worker/engine/registry/experiment.h"

namespace {

using epochd::engine::Json;
using Clock = std::chrono::steady_clock;

constexpr int64_t kStepsOfEpoch = 20;

class Silence : public epochd::engine::EventSink {
 public:
  int64_t Emit(std::string_view, Json) override { return ++count_; }
  bool IsRecorded(int64_t) const override { return true; }

 private:
  int64_t count_ = 0;
};

Json ExperimentOf(int64_t epochs) {
  Json experiment = Json::parse(R"json({
    "model": {"type": "PinnMLP", "hidden": [32, 32, 32, 32],
              "inputs": ["interior", "initial", "boundary"],
              "differentiable": "interior",
              "lower": [0, -1], "upper": [1, 1]},
    "data": {"train": {"type": "PointSets", "batch_size": 256,
      "per_sample": {"interior": 4},
      "sets": {
        "interior": {"type": "CollocationPoints", "resample": true,
                     "domain": {"t": [0, 1], "x": [-1, 1]}, "points": 0},
        "initial": {"type": "CollocationPoints", "resample": true,
                    "domain": {"t": 0, "x": [-1, 1]}, "points": 0,
                    "values": "-sin(pi*x)"},
        "boundary": {"type": "CollocationPoints", "resample": true,
                     "domain": {"t": [0, 1], "x": [-1, 1]}, "faces": "x",
                     "points": 0, "values": 0}}}},
    "loss": [{"type": "BurgersResidual", "viscosity": "0.01/pi"},
             {"type": "MSE", "name": "initial", "weight": 10,
              "output": "initial_output", "target": "initial_target"},
             {"type": "MSE", "name": "boundary", "weight": 10,
              "output": "boundary_output", "target": "boundary_target"}],
    "monitor": {"metric": "train/loss"},
    "optimizer": {"type": "Adam", "lr": 0.001},
    "trainer": {"type": "EpochTrainer"}})json");
  Json& sets = experiment["data"]["train"]["sets"];
  sets["interior"]["points"] = kStepsOfEpoch * 1024;
  sets["initial"]["points"] = kStepsOfEpoch * 256;
  sets["boundary"]["points"] = kStepsOfEpoch * 256;
  experiment["trainer"]["epochs"] = epochs;
  return experiment;
}

}  // namespace

int main(int argc, char** argv) {
  namespace engine = epochd::engine;
  at::set_num_threads(1);
  const int64_t steps = argc > 1 ? std::atoll(argv[1]) : 1000;
  const int64_t epochs = 1 + (steps + kStepsOfEpoch - 1) / kStepsOfEpoch;
  engine::Registry registry;
  engine::AddBuiltins(registry);
  registry.Freeze();
  Silence sink;
  const auto communicator = engine::MakeSingleCommunicator();
  engine::Experiment experiment = engine::BuildExperiment(
      registry, ExperimentOf(epochs),
      {.environment = {.communicator = communicator.get(),
                       .events = &sink,
                       .output_dir = ""}});
  Clock::time_point began;
  Clock::time_point ended;
  std::clock_t cpu_began = 0;
  std::clock_t cpu_ended = 0;
  double loss = 0;
  experiment.trainer->on_epoch_finished.Bind(
      [&](engine::TrainerContext& context) {
        ended = Clock::now();
        cpu_ended = std::clock();
        if (context.epoch == 0) {
          began = ended;
          cpu_began = cpu_ended;
        }
        for (const auto& [name, value] : context.scores) {
          if (name == "train/loss") loss = value;
        }
      });
  experiment.trainer->Start();
  experiment.trainer->Run();
  const auto steps_timed = static_cast<double>((epochs - 1) * kStepsOfEpoch);
  const double seconds = std::chrono::duration<double>(ended - began).count();
  const double cpu_seconds =
      static_cast<double>(cpu_ended - cpu_began) / CLOCKS_PER_SEC;
  std::printf("RESULT {\"us\": %.1f, \"cpu_us\": %.1f, \"loss\": %.6f}\n",
              seconds * 1e6 / steps_timed, cpu_seconds * 1e6 / steps_timed,
              loss);
}
