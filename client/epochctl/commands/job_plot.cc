// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/history.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string job;
  std::vector<std::string> metrics;
  int width = 0;
  int height = 12;
  bool ascii = false;
  bool log = false;
};

// Curves as numbers, for programs.
nlohmann::ordered_json AsJson(const History& history,
                              const std::vector<std::string>& names) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const terminal::Curve& curve : history.Curves(names)) {
    for (const auto& [epoch, value] : curve.points) {
      json["curves"][curve.name].push_back(
          {{"epoch", epoch}, {"value", value}});
    }
  }
  return json;
}

int Run(Context& context, const Flags& flags) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto history = ReadHistory(**client, JobName(flags.job), flags.metrics);
  if (!history.ok()) return context.Fail(history.status());
  if (context.format == Format::kJson || context.format == Format::kYaml) {
    context.out << Render(AsJson(*history, flags.metrics), context.format);
    return kOk;
  }
  if (history->Names().empty()) {
    context.err << "no epoch has ended yet\n";
    return kOk;
  }
  terminal::Style style = context.out_style;
  if (flags.ascii) style.unicode = false;
  PlotLayout layout;
  layout.width = flags.width > 0 ? flags.width : std::min(style.width, 100);
  layout.height = flags.height;
  layout.log_y = flags.log;
  context.out << RenderPlots(*history, flags.metrics, layout, style);
  return kOk;
}

}  // namespace

Command JobPlotCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job plot",
          "plot",
          "Draw a job's loss and metric curves",
          {"epochctl plot JOB",
           "epochctl plot JOB --metric val/accuracy --height 20"},
          {{"job", &flags->job, "Id of the job", {}, true},
           {"-m,--metric", &flags->metrics,
            "Only this one, such as val/loss; more than once"},
           {"--width", &flags->width, "Columns; 0: those of the terminal"},
           {"--height", &flags->height, "Lines of each plot (12)"},
           {"--ascii", &flags->ascii, "Letters in place of dots"},
           {"--log", &flags->log, "Logarithmic axis where all is positive"}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
