// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "client/terminal/human.h"

namespace epochd::epochctl {
namespace {

int Run(Context& context) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto info = (*client)->GetServerInfo();
  if (!info.ok()) return context.Fail(info.status());
  if (context.PrintMessage(*info)) return kOk;
  context.out << "ok, epochd " << Safe(info->version()) << ", up "
              << Age(info->start_time(), info->has_start_time(), context.now())
              << "\n";
  return kOk;
}

}  // namespace

Command HealthCommand() {
  return {
      "health", "", "Ask whether the coordinator answers", {"epochctl health"},
      {},       Run};
}

}  // namespace epochd::epochctl
