// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>

#include "client/epochctl/catalogue_source.h"
#include "client/epochctl/command.h"
#include "client/epochctl/event_text.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "client/job_file/spec_writer.h"
#include "client/terminal/human.h"
#include "client/terminal/width.h"
#include "proto/wire/time.h"

namespace epochd::epochctl {
namespace {

void Line(std::ostream& out, const std::string& key, const std::string& value) {
  if (!value.empty()) {
    out << terminal::PadRight(key, 11) << " " << value << "\n";
  }
}

std::string Where(const v1::Attempt& attempt) {
  std::map<std::string, int> ranks;
  for (const v1::RankPlacement& rank : attempt.ranks()) ++ranks[rank.worker()];
  std::string text;
  for (const auto& [worker, num_ranks] : ranks) {
    text += (text.empty() ? " on " : ", ") + Id(worker);
    if (num_ranks > 1) text += " x" + std::to_string(num_ranks);
  }
  return text;
}

void Print(const Context& context, const v1::Job& job) {
  std::ostream& out = context.out;
  const absl::Time now = context.now();
  const terminal::Cell state = StateCell(job.state());
  std::string reason = Word(job.reason());
  if (!job.message().empty()) reason += ": " + OneLine(job.message());
  Line(out, "name", Safe(job.name()));
  Line(out, "called", Safe(job.spec().display_name()));
  Line(out, "project", Safe(job.spec().project()));
  Line(out, "state",
       context.out_style.Paint(state.text, state.color) + " (" + reason + ")");
  if (job.queue_position() > 0) {
    Line(out, "queue", "place " + std::to_string(job.queue_position()));
  }
  Line(out, "age", Age(job.create_time(), job.has_create_time(), now));
  if (job.has_start_time()) {
    Line(out, "started", Age(job.start_time(), true, now) + " ago");
  }
  if (job.has_end_time()) {
    const absl::Time end = wire::FromProto(job.end_time());
    Line(out, "ended",
         absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez", end, absl::LocalTimeZone()) +
             ", " + Age(job.end_time(), true, now) + " ago");
    if (job.has_start_time()) {
      Line(out, "took", Age(job.start_time(), true, end));
    }
  }
  Line(out, "replicas",
       std::to_string(job.spec().resources().replicas().max()));
  if (job.has_progress() && job.progress().epoch() > 0) {
    std::string text = EpochText(job.progress());
    if (job.progress().samples_per_second() > 0) {
      text += ", " + terminal::HumanCount(job.progress().samples_per_second()) +
              " samples/s";
    }
    Line(out, "epoch", text);
  }
  Line(out, "metrics", MetricsText(job.metrics()));
  // Of what trains nothing the metrics are all.
  if (job.has_best() && Trains(job.spec())) {
    Line(out, "best", BestText(job.best()));
  }
  for (const v1::Attempt& attempt : job.attempts()) {
    std::string text = Word(attempt.state());
    if (attempt.reason() != v1::ATTEMPT_REASON_UNSPECIFIED) {
      text += " (" + Word(attempt.reason()) + ")";
    }
    text += Where(attempt);
    if (!attempt.message().empty()) text += ": " + OneLine(attempt.message());
    const size_t slash = attempt.name().rfind('/');
    Line(out, "attempt " + Safe(attempt.name().substr(slash + 1)), text);
  }
}

struct Flags {
  std::string job;
  bool resolved = false;
};

// The job file that says what the job is, for another run of it.
int PrintResolved(const Context& context, client::Client& client,
                  const v1::Job& job) {
  const auto catalogue = ServerCatalogue(client);
  if (!catalogue.ok()) {
    context.Warn("no component catalogue, defaults are not spelled out: " +
                 std::string(catalogue.status().message()));
  }
  context.out << Render(
      client::ToJobFile(job.spec(), catalogue.ok() ? &*catalogue : nullptr),
      context.format == Format::kJson ? Format::kJson : Format::kYaml);
  return kOk;
}

int Run(Context& context, const Flags& flags) {
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const auto job = (*client)->GetJob(JobName(flags.job));
  if (!job.ok()) return context.Fail(job.status());
  if (flags.resolved) return PrintResolved(context, **client, *job);
  if (context.PrintMessage(*job)) return kOk;
  if (context.format == Format::kName) {
    context.out << Safe(job->name()) << "\n";
    return kOk;
  }
  Print(context, *job);
  return kOk;
}

}  // namespace

Command JobGetCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job get",
          "status",
          "Show one job",
          {"epochctl status JOB", "epochctl job get JOB -o yaml",
           "epochctl job get JOB --resolved > again.yaml"},
          {{"job", &flags->job, "Id of the job", {}, true},
           {"--resolved", &flags->resolved,
            "Print the whole job file that it came from"}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
