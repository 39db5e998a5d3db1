// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string worker;
  bool undo = false;
};

int Run(Context& context, const Flags& flags) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto worker =
      (*client)->DrainWorker(WorkerName(flags.worker), flags.undo);
  if (!worker.ok()) return context.Fail(worker.status());
  if (context.PrintMessage(*worker)) return kOk;
  context.out << Safe(worker->name());
  if (context.format != Format::kName) {
    context.out << " " << Word(worker->state());
  }
  context.out << "\n";
  return kOk;
}

}  // namespace

Command WorkerDrainCommand() {
  const auto flags = std::make_shared<Flags>();
  return {
      "worker drain",
      "",
      "Give a worker no new work; what runs there goes on",
      {"epochctl worker drain WORKER", "epochctl worker drain WORKER --undo"},
      {{"worker", &flags->worker, "Name of the worker", {}, true},
       {"--undo", &flags->undo, "Give it work again"}},
      [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
