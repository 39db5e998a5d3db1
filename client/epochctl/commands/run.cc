// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/interrupt.h"
#include "client/epochctl/job_input.h"
#include "client/epochctl/local_cluster.h"
#include "client/epochctl/watch_job.h"
#include "client/epochctl/words.h"
#include "net/channel.h"
#include "program/home.h"

namespace epochd::epochctl {
namespace {

// What a cancelled job gets to end in.
constexpr absl::Duration kCancelGrace = absl::Seconds(45);

struct Flags {
  JobFlags job;
  bool plot = false;
  std::string folder;
  std::string plugins;
  bool allow_torchscript = false;
};

// HOME/runs/digits-20260131-120000-3f2a.
std::string NewFolder(const std::string& job, absl::Time now) {
  std::random_device random;
  char suffix[8];
  snprintf(suffix, sizeof(suffix), "%04x", random() & 0xffffU);
  return program::HomeDir() + "/runs/" + job + "-" +
         absl::FormatTime("%Y%m%d-%H%M%S", now, absl::LocalTimeZone()) + "-" +
         suffix;
}

int NumCpus(const v1::JobSpec& spec) {
  const v1::Resources& resources = spec.resources();
  const int wanted =
      std::max(resources.replicas().max(), 1) * std::max(resources.cpus(), 1);
  return std::max(wanted,
                  static_cast<int>(std::thread::hardware_concurrency()));
}

// Sends a cancellation and follows the job to its end, so that its processes
// are gone in good order; `history` gets what it tells meanwhile. Returns
// whether the cancellation could be sent.
bool Cancel(const Context& context, client::Client& client,
            const std::string& job, History& history) {
  context.err << "stopping the job, as its coordinator ends with this command; "
                 "again to end at once\n";
  const auto cancelled = client.CancelJob(job, client::NewRequestId());
  if (!cancelled.ok()) return false;
  if (client::IsTerminal(cancelled->state())) return true;
  client::WatchOptions watch;
  watch.without_progress = true;
  watch.stream.give_up_after = absl::Seconds(2);
  std::stop_source stop;
  watch.stream.stop = stop.get_token();
  std::mutex mutex;
  std::condition_variable_any wake;
  const std::jthread timer([&](const std::stop_token& done) {
    std::unique_lock lock(mutex);
    wake.wait_for(lock, done, absl::ToChronoNanoseconds(kCancelGrace),
                  [] { return false; });
    if (!done.stop_requested()) stop.request_stop();
  });
  const auto add = [&history](const v1::Event& event) {
    history.Add(event);
    return true;
  };
  client.WatchEvents(job, watch, add).IgnoreError();
  return true;
}

// No other worker will come: what does not fit the one there is never runs.
absl::Status CheckFits(const v1::Job& waiting) {
  if (waiting.reason() != v1::JOB_REASON_UNSATISFIABLE &&
      waiting.reason() != v1::JOB_REASON_COMPONENTS_MISSING) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError("this machine cannot run the job: " +
                                       waiting.message());
}

// Everything between the start of the programs and their end.
int RunJob(Context& context, const Flags& flags, client::JobFile& file,
           LocalCluster& cluster, const Interrupt& interrupt) {
  context.settings = SettingsFlags();
  context.settings.server = cluster.server();
  context.settings.token_file = cluster.token_file();
  net::ChannelOptions options;
  options.server = cluster.server();
  const auto token = net::LoadToken(cluster.token_file());
  if (!token.ok()) return context.Fail(token.status());
  options.token = *token;
  const auto channel = net::MakeChannel(options);
  if (!channel.ok()) return context.Fail(channel.status());
  client::Client client(*channel);

  const auto [job, exit_code] =
      Submit(context, client, file, client::NewRequestId(), false);
  if (exit_code) return *exit_code;
  if (!context.quiet && context.format != Format::kJson) {
    context.err << Safe(job.name()) << " " << Word(job.state()) << "\n";
  }
  History history;
  WatchJobOptions watch;
  watch.stop = interrupt.token();
  watch.silent =
      context.format == Format::kJson || context.format == Format::kYaml;
  absl::Status trouble;
  watch.check = [&](const v1::Job* waiting) {
    trouble = cluster.Check();
    if (trouble.ok() && waiting != nullptr) trouble = CheckFits(*waiting);
    return trouble;
  };
  const auto state = FollowJob(context, client, job.name(), watch, history);
  if (!state.ok()) {
    if (interrupt.signal() != 0) {
      if (!Cancel(context, client, job.name(), history)) {
        return interrupt.ExitCode();
      }
      // Where its last checkpoint is, for one.
      if (const auto last = client.GetJob(job.name());
          last.ok() && !context.PrintMessage(*last)) {
        context.out << OutcomeAfterWatch(context, *last, history) << std::flush;
      }
      return interrupt.ExitCode();
    }
    if (trouble.ok()) trouble = cluster.Check();
    const int code = context.Fail(trouble.ok() ? state.status() : trouble);
    return trouble.ok() ? code : kFailed;
  }
  const auto last = client.GetJob(job.name());
  if (!last.ok()) return context.Fail(last.status());
  if (context.PrintMessage(*last)) return OutcomeCode(*state);
  if ((flags.plot || (context.out_style.is_terminal && !context.quiet)) &&
      !history.Names().empty()) {
    PlotLayout layout;
    layout.width = std::min(context.out_style.width, 100);
    context.out << RenderPlots(history, {}, layout, context.out_style) << "\n";
  }
  context.out << OutcomeAfterWatch(context, *last, history) << std::flush;
  return OutcomeCode(*state);
}

int Run(Context& context, const Flags& flags) {
  // Before any thread exists.
  const Interrupt interrupt;
  JobInput input = LoadJob(context, flags.job, nullptr, false);
  if (input.exit_code) return *input.exit_code;

  LocalCluster::Options options;
  options.bin_dir = context.bin_dir;
  options.folder =
      flags.folder.empty()
          ? NewFolder(input.file.spec.display_name(), context.now())
          : std::filesystem::absolute(flags.folder).string();
  options.cpus = NumCpus(input.file.spec);
  options.plugins = flags.plugins;
  options.allow_torchscript = flags.allow_torchscript;
  options.catalogue = flags.job.catalogue;
  options.stop = interrupt.token();
  auto cluster = LocalCluster::Start(options);
  if (!cluster.ok()) {
    if (interrupt.signal() != 0) return interrupt.ExitCode();
    context.Fail(cluster.status());
    return kFailed;
  }
  return RunJob(context, flags, input.file, **cluster, interrupt);
}

}  // namespace

Command RunCommand() {
  const auto flags = std::make_shared<Flags>();
  std::vector<Option> options = JobOptions(flags->job);
  options.push_back(
      {"--plot", &flags->plot,
       "Draw the curves at the end, also when no terminal is there"});
  options.push_back({"--folder",
                     &flags->folder,
                     "Where all that is kept goes (EPOCHD_HOME/runs/...)",
                     {},
                     false,
                     true});
  options.push_back(
      {"--plugins", &flags->plugins,
       "Libraries with further components, separated by ':'; --catalogue is "
       "then what epochd-trainer --catalogue prints with them"});
  options.push_back({"--allow-torchscript", &flags->allow_torchscript,
                     "Run models that are TorchScript archives; they hold "
                     "code"});
  return {"run",
          "",
          "Train here and now: coordinator, worker and job in one command",
          {"epochctl run examples/digits.yaml",
           "epochctl run job.yaml --set resources.replicas=2 --plot"},
          std::move(options),
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
