// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "absl/time/time.h"
#include "client/epochctl/command.h"
#include "client/epochctl/event_text.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "client/terminal/table.h"
#include "proto/wire/time.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string job;
  int after = 0;
};

int Run(Context& context, const Flags& flags) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto events = (*client)->ListEvents(JobName(flags.job), flags.after);
  if (!events.ok()) return context.Fail(events.status());
  if (context.format == Format::kJson) {
    // A line each, as watch prints them.
    for (const v1::Event& event : *events) {
      context.out << ToJson(event).dump() << "\n";
    }
    return kOk;
  }
  if (context.PrintMessages("events", *events)) return kOk;
  terminal::Table table({"SEQ", "AGE", "ATTEMPT", "KIND", "WHAT"});
  const absl::Time now = context.now();
  for (const v1::Event& event : *events) {
    table.Add({{std::to_string(event.sequence())},
               {Age(event.time(), event.has_time(), now)},
               {event.attempt() == 0 ? "-" : std::to_string(event.attempt())},
               {EventKind(event)},
               {EventText(event)}});
  }
  context.out << table.Render(context.out_style, !context.no_headers);
  return kOk;
}

}  // namespace

Command JobEventsCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job events",
          "",
          "List what happened to a job",
          {"epochctl job events JOB", "epochctl job events JOB -o json"},
          {{"job", &flags->job, "Id of the job", {}, true},
           {"--after", &flags->after, "Begin after this sequence"}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
