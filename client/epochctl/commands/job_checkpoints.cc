// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/event_text.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "client/terminal/human.h"
#include "client/terminal/table.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string job;
  bool all = false;
};

int Run(Context& context, const Flags& flags) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto checkpoints =
      (*client)->ListCheckpoints(JobName(flags.job), flags.all);
  if (!checkpoints.ok()) return context.Fail(checkpoints.status());
  if (context.PrintMessages("checkpoints", *checkpoints)) return kOk;
  if (context.format == Format::kName) {
    for (const v1::Checkpoint& checkpoint : *checkpoints) {
      context.out << Safe(checkpoint.path()) << "\n";
    }
    return kOk;
  }
  terminal::Table table({"EPOCH", "STEP", "BEST", "SIZE", "AGE", "PATH"});
  const absl::Time now = context.now();
  // Each was the best when it was saved; the newest of them still is.
  const auto best =
      std::find_if(checkpoints->begin(), checkpoints->end(),
                   [](const v1::Checkpoint& checkpoint) {
                     return checkpoint.best() && !checkpoint.removed();
                   });
  for (const v1::Checkpoint& checkpoint : *checkpoints) {
    const bool is_best = best != checkpoints->end() && &checkpoint == &*best;
    table.Add(
        {{std::to_string(checkpoint.epoch())},
         {std::to_string(checkpoint.step())},
         {is_best ? "best" : "-", terminal::Color::kGreen},
         {terminal::HumanBytes(checkpoint.size_bytes())},
         {Age(checkpoint.create_time(), checkpoint.has_create_time(), now)},
         {Safe(checkpoint.path()) +
          (checkpoint.removed() ? " (removed)" : "")}});
  }
  context.out << table.Render(context.out_style, !context.no_headers);
  return kOk;
}

}  // namespace

Command JobCheckpointsCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job checkpoints",
          "",
          "List a job's checkpoints, newest first",
          {"epochctl job checkpoints JOB"},
          {{"job", &flags->job, "Id of the job", {}, true},
           {"--all", &flags->all, "Also those that were removed"}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
