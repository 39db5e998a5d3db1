// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "client/terminal/human.h"
#include "client/terminal/table.h"

namespace epochd::epochctl {
namespace {

int Run(Context& context, const std::string& id) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto worker = (*client)->GetWorker(WorkerName(id));
  if (!worker.ok()) return context.Fail(worker.status());
  if (context.PrintMessage(*worker)) return kOk;
  if (context.format == Format::kName) {
    context.out << Safe(worker->name()) << "\n";
    return kOk;
  }
  const terminal::Cell state = StateCell(worker->state());
  context.out << Safe(worker->name()) << " "
              << context.out_style.Paint(state.text, state.color);
  if (!worker->message().empty()) {
    context.out << ": " << Safe(worker->message());
  }
  context.out << "\nhost " << Safe(worker->hostname()) << ", version "
              << Safe(worker->version()) << ", memory "
              << terminal::HumanBytes(worker->memory_bytes()) << "\n";
  const std::map<std::string, std::string> labels(worker->labels().begin(),
                                                  worker->labels().end());
  for (const auto& [key, value] : labels) {
    context.out << "label " << Safe(key) << "=" << Safe(value) << "\n";
  }
  terminal::Table table({"DEVICE", "KIND", "MODEL", "MEMORY", "HELD BY"});
  for (const v1::Device& device : worker->devices()) {
    table.Add({{Safe(device.id())},
               {device.kind() == v1::DEVICE_KIND_GPU ? "gpu" : "cpu"},
               {Safe(device.model())},
               {device.memory_bytes() > 0
                    ? terminal::HumanBytes(device.memory_bytes())
                    : "-"},
               {device.held_by().empty() ? "-" : Safe(device.held_by())}});
  }
  context.out << table.Render(context.out_style, !context.no_headers);
  return kOk;
}

}  // namespace

Command WorkerGetCommand() {
  const auto id = std::make_shared<std::string>();
  return {"worker get",
          "",
          "Show one worker and its devices",
          {"epochctl worker get WORKER"},
          {{"worker", id.get(), "Name of the worker", {}, true}},
          [id](Context& context) { return Run(context, *id); }};
}

}  // namespace epochd::epochctl
