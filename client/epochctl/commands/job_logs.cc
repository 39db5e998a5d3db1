// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/interrupt.h"
#include "client/epochctl/log_filter.h"
#include "client/epochctl/log_tail.h"
#include "client/epochctl/watch_job.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string job;
  int rank = 0;
  int attempt = 0;
  int tail = -1;
  bool follow = false;
};

// A trainer tells it as an event, which is in no log.
void SayWhyItFailed(const Context& context, client::Client& client,
                    const std::string& name) {
  const auto job = client.GetJob(name);
  if (!job.ok() || job->message().empty() || context.quiet) return;
  context.err << Id(name) << " " << Word(job->state()) << " ("
              << Word(job->reason()) << "): " << OneLine(job->message())
              << "\n";
}

int Run(Context& context, const Flags& flags) {
  const Interrupt interrupt;
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const std::string job = JobName(flags.job);
  const auto known = (*client)->GetJob(job);
  if (!known.ok()) {
    const int code = context.Fail(known.status());
    return code == kNotFound && flags.follow ? kJobNotFound : code;
  }
  const int num_ranks = std::max(known->spec().resources().replicas().max(), 1);
  if (flags.rank < 0 || flags.rank >= num_ranks) {
    context.Fail(absl::InvalidArgumentError(
        "--rank: the job has no rank " + std::to_string(flags.rank) + ", " +
        (num_ranks == 1 ? "only 0" : "0 to " + std::to_string(num_ranks - 1)) +
        " is accepted"));
    return kUsage;
  }
  client::LogOptions options;
  options.rank = flags.rank;
  options.attempt = flags.attempt;
  options.follow = flags.follow;
  options.stream.stop = interrupt.token();
  // A terminal is not driven by what a job writes; files get every byte.
  const bool is_filtered = context.out_style.is_terminal;
  LogFilter filter;
  int attempt = 0;
  const auto print = [&](const v1::LogChunk& chunk) {
    if (chunk.attempt() != attempt) {
      if (attempt != 0) {
        context.out << filter.Finish() << std::flush;
        context.err << "--- attempt " << chunk.attempt() << " ---\n";
      }
      attempt = chunk.attempt();
    }
    context.out << (is_filtered ? filter.Filter(chunk.data()) : chunk.data())
                << std::flush;
    if (chunk.truncated()) {
      context.Warn("the log was cut at its size limit");
    }
    return context.out.good();
  };
  const auto state =
      flags.tail < 0 ? (*client)->ReadLogs(job, options, print)
                     : ReadLastLines(**client, job, options, flags.tail, print);
  context.out << filter.Finish() << std::flush;
  if (state.ok()) {
    if (*state == v1::JOB_STATE_FAILED) SayWhyItFailed(context, **client, job);
    return flags.follow ? OutcomeCode(*state) : kOk;
  }
  if (interrupt.signal() != 0) {
    context.err << "\ndetached; the job goes on: epochctl logs -f "
                << Id(flags.job) << "\n";
    return interrupt.ExitCode();
  }
  const int code = context.Fail(state.status());
  return code == kNotFound && flags.follow ? kJobNotFound : code;
}

}  // namespace

Command JobLogsCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job logs",
          "logs",
          "Print what a rank wrote, not its epochs (watch, job events); with "
          "-f the exit code tells how the job ended",
          {"epochctl logs JOB", "epochctl logs -f JOB --rank 1 --tail 20"},
          {{"job", &flags->job, "Id of the job", {}, true},
           {"-f,--follow", &flags->follow,
            "Go on until the job ends; Ctrl-C detaches"},
           {"--rank", &flags->rank, "Which rank (0)"},
           {"--attempt", &flags->attempt, "Which attempt; 0: all"},
           {"--tail", &flags->tail,
            "Only the last so many lines of the last attempt; -1: all"}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
