// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/watch_job.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "client/epochctl/exit_code.h"
#include "client/epochctl/outcome.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

constexpr auto kAskEvery = std::chrono::milliseconds(500);
// A reason that is gone sooner is not told, such as that a worker still starts.
constexpr int kLooks = 3;

// Asks from time to time how things stand while the events are followed, as
// what a queued job waits for is no event. Its own thread.
class Asker {
 public:
  struct Callbacks {
    // Why the job waits, each reason once it has stood for a while.
    std::function<void(const std::string&)> tell;
    // WatchJobOptions::check; may be empty.
    std::function<absl::Status(const v1::Job*)> check;
    // After the first failure of it, which ends the asking.
    std::function<void()> failed;
  };

  Asker(client::Client& client, std::string job, Callbacks callbacks)
      : client_(client),
        job_(std::move(job)),
        callbacks_(std::move(callbacks)),
        thread_([this](const std::stop_token& done) { Run(done); }) {}

  void set_waiting(bool waiting) { waiting_ = waiting; }
  // Asks no more; what `check` failed with.
  absl::Status Finish() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    return failure_;
  }

 private:
  void Run(const std::stop_token& done) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, done, kAskEvery,
                          [&] { return done.stop_requested(); })) {
      const std::optional<v1::Job> waiting = Waiting();
      if (waiting) Tell(*waiting);
      if (!callbacks_.check) continue;
      failure_ = callbacks_.check(waiting ? &*waiting : nullptr);
      if (failure_.ok()) continue;
      callbacks_.failed();
      return;
    }
  }

  std::optional<v1::Job> Waiting() {
    if (!waiting_) return std::nullopt;
    const absl::StatusOr<v1::Job> job = client_.GetJob(job_);
    if (!job.ok() || job->state() != v1::JOB_STATE_QUEUED) return std::nullopt;
    return *job;
  }

  void Tell(const v1::Job& job) {
    std::string why = Word(job.reason());
    if (!job.message().empty()) why += ": " + Safe(job.message());
    num_looks_ = why == seen_ ? num_looks_ + 1 : 1;
    seen_ = why;
    if (num_looks_ < kLooks || why == told_) return;
    told_ = std::move(why);
    callbacks_.tell("waiting (" + told_ + ")");
  }

  client::Client& client_;
  const std::string job_;
  const Callbacks callbacks_;
  std::atomic<bool> waiting_ = true;
  std::string seen_;
  int num_looks_ = 0;
  std::string told_;
  absl::Status failure_;
  // The last, as it uses all of the others.
  std::jthread thread_;
};

}  // namespace

std::optional<int> FailUnlessThere(const Context& context,
                                   client::Client& client,
                                   const std::string& job) {
  const absl::Status status = client.GetJob(job).status();
  if (status.ok()) return std::nullopt;
  const int code = context.Fail(status);
  return code == kNotFound ? kJobNotFound : code;
}

absl::StatusOr<v1::JobState> FollowJob(const Context& context,
                                       client::Client& client,
                                       const std::string& job,
                                       const WatchJobOptions& options,
                                       History& history) {
  const bool as_json = context.format == Format::kJson && !options.silent;
  const bool show = !options.silent && !context.quiet && !as_json;
  ProgressView view(context.err, context.err_style, context.now);
  std::mutex mutex;  // of `view`
  std::stop_source stop;
  const std::stop_callback on_stop(options.stop,
                                   [&stop] { stop.request_stop(); });
  std::optional<Asker> asker;
  if (show || options.check) {
    asker.emplace(client, job,
                  Asker::Callbacks{.tell =
                                       [&](const std::string& text) {
                                         if (!show) return;
                                         const std::lock_guard lock(mutex);
                                         view.Say(text);
                                       },
                                   .check = options.check,
                                   .failed = [&] { stop.request_stop(); }});
  }
  client::WatchOptions watch;
  watch.after = options.after;
  watch.without_progress = !show || !context.err_style.is_terminal;
  watch.stream.stop = stop.get_token();
  bool is_reconnecting = false;
  watch.stream.on_retry = [&](const absl::Status& status) {
    if (is_reconnecting || options.silent) return;
    is_reconnecting = true;
    const std::lock_guard lock(mutex);
    view.Say("connection lost, trying again: " +
             Safe(std::string(status.message())));
  };
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  const absl::Status status =
      client.WatchEvents(job, watch, [&](const v1::Event& event) {
        const std::lock_guard lock(mutex);
        if (is_reconnecting) {
          is_reconnecting = false;
          view.Say("connected again");
        }
        history.Add(event);
        if (event.has_job_state()) {
          state = event.job_state().state();
          if (asker) asker->set_waiting(state == v1::JOB_STATE_QUEUED);
        }
        if (as_json) {
          context.out << ToJson(event).dump() << std::endl;
        } else if (show) {
          view.Add(event);
        }
        return context.out.good();
      });
  const absl::Status failure = asker ? asker->Finish() : absl::OkStatus();
  view.Finish();
  if (!status.ok()) return failure.ok() ? status : failure;
  if (client::IsTerminal(state)) return state;
  // Its last event came before `after`.
  const absl::StatusOr<v1::Job> last = client.GetJob(job);
  if (!last.ok()) return last.status();
  return last->state();
}

std::string OutcomeAfterWatch(const Context& context, const v1::Job& job,
                              const History& history) {
  if (context.quiet) return StateText(job);
  if (!history.is_over() || !context.out_style.is_terminal ||
      !context.err_style.is_terminal) {
    return OutcomeText(job, history);
  }
  v1::Job told = job;
  told.clear_message();
  return OutcomeText(told, history);
}

int WatchAndReport(const Context& context, client::Client& client,
                   const std::string& job, const WatchJobOptions& options) {
  History history;
  const absl::StatusOr<v1::JobState> state =
      FollowJob(context, client, job, options, history);
  if (state.ok()) {
    if (!options.silent && context.format != Format::kJson) {
      if (const absl::StatusOr<v1::Job> last = client.GetJob(job); last.ok()) {
        context.out << OutcomeAfterWatch(context, *last, history);
      }
    }
    return OutcomeCode(*state);
  }
  if (absl::IsCancelled(state.status())) {
    context.err << "detached; the job goes on: epochctl watch " << Id(job)
                << ", epochctl stop " << Id(job) << "\n";
    return kInterrupted;
  }
  const int code = context.Fail(state.status());
  return code == kNotFound ? kJobNotFound : code;
}

}  // namespace epochd::epochctl
