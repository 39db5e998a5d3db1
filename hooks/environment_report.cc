// SPDX-License-Identifier: Apache-2.0
#include "hooks/environment_report.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <sys/utsname.h>
#include <torch/version.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "worker/engine/loop/trainer.h"
#include "worker/engine/version.h"

namespace epochd::hooks {
namespace {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

engine::Json Report(engine::Trainer& trainer) {
  utsname system{};
  uname(&system);
  const engine::RunEnvironment& environment = trainer.environment();
  engine::Json optimizers = engine::Json::array();
  for (const auto& [name, optimizer] : trainer.training_runner().Optimizers()) {
    optimizers.push_back(name);
  }
  return {{"epochd", std::string(engine::EngineVersion())},
          {"libtorch", TORCH_VERSION},
          {"compiler", __VERSION__},
          {"system", std::string(system.sysname) + " " + system.release},
          {"machine", system.machine},
          {"processor", ProcessorName()},
          {"processors", std::thread::hardware_concurrency()},
          {"memory_bytes", static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
                               sysconf(_SC_PAGESIZE)},
          {"threads", at::get_num_threads()},
          {"device", environment.device.str()},
          {"deterministic", at::globalContext().deterministicAlgorithms()},
          {"world_size", environment.communicator->world_size()},
          {"seed", trainer.seed()},
          {"epochs", trainer.epochs()},
          {"optimizers", optimizers},
          {"position",
           {{"epoch", trainer.position().epoch},
            {"step", trainer.position().step}}}};
}

}  // namespace

void EnvironmentReport::AttachToTrainer(engine::Trainer& trainer) {
  const std::string& output = trainer.environment().output_dir;
  if (!trainer.is_main_rank() || output.empty()) return;
  const std::string path = output + "/environment.json";
  trainer.AddOutput("environment", path);
  const auto write = [path, &trainer](auto&) {
    std::error_code error;
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path(), error);
    std::ofstream file(path);
    file << Report(trainer).dump(2) << '\n';
    file.flush();
    if (!file) {
      trainer.events().Notice("warning", "\"" + path + "\": cannot write");
    }
  };
  trainer.on_training_began.Bind(write);
  trainer.on_evaluation_began.Bind(write);
  trainer.on_prediction_began.Bind(write);
}

engine::Entry<engine::Hook> EnvironmentReportEntry() {
  return {{.kind = "hook",
           .name = "EnvironmentReport",
           .help = "writes what the run ran on"},
          [](const engine::Params&) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<EnvironmentReport>();
          }};
}

}  // namespace epochd::hooks
