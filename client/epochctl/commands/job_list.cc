// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "client/terminal/table.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::vector<std::string> states;
  std::string project;
  std::vector<std::string> labels;
  int limit = 0;
};

absl::StatusOr<client::JobFilter> Filter(const Flags& flags) {
  if (flags.limit < 0) {
    return absl::InvalidArgumentError("--limit: expected 0 and more, got '" +
                                      std::to_string(flags.limit) + "'");
  }
  client::JobFilter filter;
  filter.project = flags.project;
  filter.limit = flags.limit;
  for (const std::string& state : flags.states) {
    std::string name = "JOB_STATE_" + state;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    v1::JobState value = v1::JOB_STATE_UNSPECIFIED;
    v1::JobState_Parse(name, &value);
    filter.states.push_back(value);
  }
  for (const std::string& label : flags.labels) {
    const size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          "--selector: expected KEY=VALUE, got '" + label + "'");
    }
    filter.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return filter;
}

int Run(Context& context, const Flags& flags) {
  const absl::StatusOr<client::JobFilter> filter = Filter(flags);
  if (!filter.ok()) {
    context.Fail(filter.status());
    return kUsage;
  }
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto jobs = (*client)->ListJobs(*filter);
  if (!jobs.ok()) return context.Fail(jobs.status());
  if (context.PrintMessages("jobs", *jobs)) return kOk;
  if (context.format == Format::kName) {
    for (const v1::Job& job : *jobs) context.out << Safe(job.name()) << "\n";
    return kOk;
  }
  const bool is_wide = context.format == Format::kWide;
  std::vector<std::string> headers = {"ID",    "NAME", "STATE",
                                      "EPOCH", "BEST", "AGE"};
  if (is_wide) {
    headers.insert(headers.end(),
                   {"PROJECT", "REPLICAS", "ATTEMPT", "REASON", "MESSAGE"});
  } else {
    headers.push_back("REASON");
  }
  terminal::Table table(headers);
  const absl::Time now = context.now();
  for (const v1::Job& job : *jobs) {
    std::vector<terminal::Cell> row = {
        {Id(job.name())},
        {Safe(job.spec().display_name())},
        StateCell(job.state()),
        {EpochText(job.progress())},
        {BestText(job.best())},
        {Age(job.create_time(), job.has_create_time(), now)}};
    if (is_wide) {
      row.push_back({Safe(job.spec().project())});
      row.push_back({std::to_string(job.spec().resources().replicas().max())});
      row.push_back({std::to_string(job.attempt())});
      row.push_back({Word(job.reason())});
      row.push_back({Safe(job.message())});
    } else {
      row.push_back({Word(job.reason())});
    }
    table.Add(std::move(row));
  }
  if (jobs->empty() && !context.no_headers) {
    context.err << "no jobs\n";
    return kOk;
  }
  context.out << table.Render(context.out_style, !context.no_headers);
  return kOk;
}

}  // namespace

Command JobListCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job list",
          "ps",
          "List jobs",
          {"epochctl ps", "epochctl ps --state running -o wide",
           "epochctl ps -l team=vision -o json"},
          {{"--state",
            &flags->states,
            "Jobs in this state, more than once",
            {"queued", "starting", "running", "stopping", "succeeded", "failed",
             "cancelled"}},
           {"--project", &flags->project, "Jobs of this project"},
           {"-l,--selector", &flags->labels,
            "Jobs with label KEY=VALUE, more than once"},
           {"--limit", &flags->limit, "At most so many; 0: all"}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
