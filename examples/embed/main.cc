// SPDX-License-Identifier: Apache-2.0
//
// Trains in this very process: embed EXPERIMENT.json [OUTPUT_FOLDER]
#include <fstream>
#include <iostream>

#include "hooks/builtin.h"
#include "worker/engine/core/error.h"
#include "worker/engine/dist/single.h"
#include "worker/engine/registry/builtin.h"
#include "worker/engine/registry/experiment.h"

using epochd::engine::TrainerContext;

// Hears what hooks tell: saved checkpoints, notices.
class Printer : public epochd::engine::EventSink {
 public:
  int64_t Emit(std::string_view type, epochd::engine::Json fields) override {
    std::cout << type << ' ' << fields << '\n';
    return 0;
  }
  bool IsRecorded(int64_t) const override { return true; }
};

int main(int argc, char** argv) {
  try {
    std::ifstream file(argc > 1 ? argv[1] : "examples/embed/experiment.json");
    const auto json = epochd::engine::Json::parse(file);

    epochd::engine::Registry registry;
    epochd::engine::AddBuiltins(registry);
    registry.Add(epochd::hooks::BuiltinHooks());
    registry.Freeze();

    const auto communicator = epochd::engine::MakeSingleCommunicator();
    Printer printer;
    auto experiment = epochd::engine::BuildExperiment(
        registry, json,
        {.environment = {.communicator = communicator.get(),
                         .events = &printer,
                         .output_dir = argc > 2 ? argv[2] : ""}});
    epochd::engine::Trainer& trainer = *experiment.trainer;
    trainer.on_epoch_finished.Bind([](TrainerContext& context) {
      std::cout << "epoch " << context.epoch + 1;
      for (const auto& [name, value] : context.scores) {
        std::cout << "  " << name << ' ' << value;
      }
      std::cout << '\n';
    });
    trainer.Start();
    trainer.Run();
    std::cout << "best " << trainer.monitor().metric << ' '
              << trainer.monitor().best << '\n';
  } catch (const std::exception& error) {
    std::cerr << "embed: " << error.what() << '\n';
    return 1;
  }
}
