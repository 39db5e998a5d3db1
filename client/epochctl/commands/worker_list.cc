// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "client/terminal/human.h"
#include "client/terminal/table.h"

namespace epochd::epochctl {
namespace {

// "3/8": devices of a kind that are in use, and all of them.
std::string Used(const v1::Worker& worker, v1::DeviceKind kind) {
  int num_used = 0;
  int num_devices = 0;
  for (const v1::Device& device : worker.devices()) {
    if (device.kind() != kind) continue;
    ++num_devices;
    if (!device.held_by().empty()) ++num_used;
  }
  if (num_devices == 0) return "-";
  return std::to_string(num_used) + "/" + std::to_string(num_devices);
}

int Run(Context& context) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto workers = (*client)->ListWorkers();
  if (!workers.ok()) return context.Fail(workers.status());
  if (context.PrintMessages("workers", *workers)) return kOk;
  if (context.format == Format::kName) {
    for (const v1::Worker& worker : *workers) {
      context.out << Safe(worker.name()) << "\n";
    }
    return kOk;
  }
  const bool is_wide = context.format == Format::kWide;
  std::vector<std::string> headers = {"NAME", "STATE", "CPUS", "GPUS", "SEEN"};
  if (is_wide) {
    headers.insert(headers.end(), {"MEMORY", "HOST", "VERSION"});
  }
  headers.push_back("MESSAGE");
  terminal::Table table(headers);
  const absl::Time now = context.now();
  for (const v1::Worker& worker : *workers) {
    std::vector<terminal::Cell> row = {
        {Id(worker.name())},
        StateCell(worker.state()),
        {Used(worker, v1::DEVICE_KIND_CPU)},
        {Used(worker, v1::DEVICE_KIND_GPU)},
        {Age(worker.last_seen_time(), worker.has_last_seen_time(), now)}};
    if (is_wide) {
      row.push_back({terminal::HumanBytes(worker.memory_bytes())});
      row.push_back({Safe(worker.hostname())});
      row.push_back({Safe(worker.version())});
    }
    row.push_back({Safe(worker.message())});
    table.Add(std::move(row));
  }
  if (workers->empty() && !context.no_headers) {
    context.err << "no workers\n";
    return kOk;
  }
  context.out << table.Render(context.out_style, !context.no_headers);
  return kOk;
}

}  // namespace

Command WorkerListCommand() {
  return {"worker list",
          "",
          "List workers",
          {"epochctl worker list", "epochctl worker list -o wide"},
          {},
          Run};
}

}  // namespace epochd::epochctl
