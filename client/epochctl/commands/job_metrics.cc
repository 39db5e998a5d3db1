// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <memory>
#include <sstream>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/history.h"
#include "client/epochctl/words.h"
#include "client/terminal/human.h"
#include "client/terminal/table.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string job;
  std::vector<std::string> metrics;
  bool csv = false;
};

nlohmann::ordered_json AsJson(const std::vector<ScoreRow>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const ScoreRow& row : rows) {
    nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
    // JSON has no NaN: null.
    for (const auto& [name, value] : row.scores) metrics[name] = value;
    list.push_back(
        {{"epoch", row.epoch}, {"step", row.step}, {"metrics", metrics}});
  }
  return {{"scores", std::move(list)}};
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

// All digits, so that it reads back as the same number; empty: not measured.
std::string AsCsv(const std::vector<ScoreRow>& rows,
                  const std::vector<std::string>& names) {
  std::ostringstream text;
  text << std::setprecision(17) << "epoch,step";
  for (const std::string& name : names) text << ',' << Quoted(name);
  for (const ScoreRow& row : rows) {
    text << '\n' << row.epoch << ',' << row.step;
    for (const std::string& name : names) {
      text << ',';
      const auto found = row.scores.find(name);
      if (found != row.scores.end()) text << found->second;
    }
  }
  text << '\n';
  return text.str();
}

int Run(Context& context, const Flags& flags) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto history = ReadHistory(**client, JobName(flags.job), flags.metrics);
  if (!history.ok()) return context.Fail(history.status());
  const std::vector<std::string> names =
      flags.metrics.empty() ? history->Names() : flags.metrics;
  const std::vector<ScoreRow> rows = history->Rows(names);
  if (context.format == Format::kJson || context.format == Format::kYaml) {
    context.out << Render(AsJson(rows), context.format);
    return kOk;
  }
  if (context.format == Format::kName) {
    for (const std::string& name : names) context.out << Safe(name) << "\n";
    return kOk;
  }
  if (flags.csv) {
    context.out << AsCsv(rows, names);
    return kOk;
  }
  std::vector<std::string> head = {"EPOCH", "STEP"};
  for (const std::string& name : names) head.push_back(Safe(name));
  terminal::Table table(head);
  for (const ScoreRow& row : rows) {
    std::vector<terminal::Cell> cells = {{std::to_string(row.epoch)},
                                         {std::to_string(row.step)}};
    for (const std::string& name : names) {
      const auto found = row.scores.find(name);
      cells.push_back({found == row.scores.end()
                           ? "-"
                           : terminal::HumanNumber(found->second)});
    }
    table.Add(cells);
  }
  context.out << table.Render(context.out_style, !context.no_headers);
  return kOk;
}

}  // namespace

Command JobMetricsCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job metrics",
          "metrics",
          "List a job's scores, a line for each epoch or validation",
          {"epochctl metrics JOB", "epochctl metrics JOB --csv > scores.csv",
           "epochctl metrics JOB --metric val/accuracy -o json"},
          {{"job", &flags->job, "Id of the job", {}, true},
           {"-m,--metric", &flags->metrics,
            "Only this one, such as val/loss; more than once"},
           {"--csv", &flags->csv, "Comma-separated, with all digits"}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
