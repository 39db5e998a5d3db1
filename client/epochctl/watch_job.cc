// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/watch_job.h"

#include "client/epochctl/exit_code.h"
#include "client/epochctl/outcome.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {

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
  client::WatchOptions watch;
  watch.after = options.after;
  watch.without_progress = !show || !context.err_style.is_terminal;
  watch.stream.stop = options.stop;
  bool is_reconnecting = false;
  watch.stream.on_retry = [&](const absl::Status& status) {
    if (is_reconnecting || options.silent) return;
    is_reconnecting = true;
    view.Say("connection lost, trying again: " +
             Safe(std::string(status.message())));
  };
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  const absl::Status status =
      client.WatchEvents(job, watch, [&](const v1::Event& event) {
        if (is_reconnecting) {
          is_reconnecting = false;
          view.Say("connected again");
        }
        history.Add(event);
        if (event.has_job_state()) state = event.job_state().state();
        if (as_json) {
          context.out << ToJson(event).dump() << std::endl;
        } else if (show) {
          view.Add(event);
        }
        return context.out.good();
      });
  view.Finish();
  if (!status.ok()) return status;
  if (client::IsTerminal(state)) return state;
  // Its last event came before `after`.
  const absl::StatusOr<v1::Job> last = client.GetJob(job);
  if (!last.ok()) return last.status();
  return last->state();
}

std::string OutcomeAfterWatch(const Context& context, const v1::Job& job,
                              const History& history) {
  if (!history.is_over() || context.quiet || !context.out_style.is_terminal ||
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
