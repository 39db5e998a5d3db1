// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "catalogue/catalogue.h"
#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/interrupt.h"
#include "client/epochctl/watch_job.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string job;
  std::string timeout;
};

int Run(Context& context, const Flags& flags) {
  const auto seconds = catalogue::ParseDuration(flags.timeout);
  if (!flags.timeout.empty() && !seconds) {
    context.Fail(absl::InvalidArgumentError(
        "--timeout: expected a duration such as 90s, 10m or 2h, got '" +
        flags.timeout + "'"));
    return kUsage;
  }
  const Interrupt interrupt;
  auto client = context.Connect();
  if (!client.ok()) return context.Fail(client.status());
  const std::string job = JobName(flags.job);
  if (const auto code = FailUnlessThere(context, **client, job)) return *code;
  // Stopped by the signal or by the clock.
  std::stop_source stop;
  const std::stop_callback on_signal(interrupt.token(),
                                     [&stop] { stop.request_stop(); });
  std::atomic<bool> is_late = false;
  const std::jthread timer([&](const std::stop_token& done) {
    if (!seconds) return;
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait_for(lock, done, std::chrono::duration<double>(*seconds),
                  [] { return false; });
    if (done.stop_requested()) return;
    is_late = true;
    stop.request_stop();
  });
  WatchJobOptions options;
  options.silent = true;
  options.stop = stop.get_token();
  History history;
  const auto state = FollowJob(context, **client, job, options, history);
  if (!state.ok()) {
    if (is_late) return kTimeout;
    if (interrupt.signal() != 0) return interrupt.ExitCode();
    const int code = context.Fail(state.status());
    return code == kNotFound ? kJobNotFound : code;
  }
  if (!context.quiet) context.out << Word(*state) << "\n";
  return OutcomeCode(*state);
}

}  // namespace

Command JobWaitCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"job wait",
          "",
          "Wait for the end of a job; the exit code tells how it ended",
          {"epochctl job wait JOB --timeout 2h"},
          {{"job", &flags->job, "Id of the job", {}, true},
           {"--timeout", &flags->timeout, "Give up after, such as 2h"}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
