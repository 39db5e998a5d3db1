// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/fleet_collector.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "server/fleet/worker.h"
#include "server/job/job.h"
#include "server/job/state.h"
#include "server/metrics/family.h"

namespace epochd::metrics {
namespace {

using prometheus::MetricType;

struct FleetFamilies {
  FamilySpec jobs{
      "epochd_jobs", "Jobs by state.", MetricType::Gauge, {"state"}};
  FamilySpec workers{
      "epochd_workers", "Workers by state.", MetricType::Gauge, {"state"}};
  FamilySpec devices{"epochd_devices",
                     "Devices of workers that are not lost, by kind and "
                     "whether an attempt holds them.",
                     MetricType::Gauge,
                     {"kind", "state"}};
  FamilySpec queue_wait{"epochd_job_queue_wait_seconds",
                        "Time from being queued to being assigned.",
                        MetricType::Histogram,
                        {}};
  FamilySpec scheduler_pass{"epochd_scheduler_pass_seconds",
                            "Time of the control thread that placing queued "
                            "jobs took.",
                            MetricType::Histogram,
                            {}};
  FamilySpec events{"epochd_events_total",
                    "Events recorded in journals since the process started.",
                    MetricType::Counter,
                    {}};
  FamilySpec commit_failures{"epochd_store_commit_failures_total",
                             "Commits that the store refused.",
                             MetricType::Counter,
                             {}};
  FamilySpec removed_jobs{"epochd_jobs_removed_total",
                          "Finished jobs that were removed since they were "
                          "old or too many.",
                          MetricType::Counter,
                          {}};
  FamilySpec fenced{"epochd_fenced_requests_total",
                    "Calls refused since they came from a stale attempt or "
                    "incarnation.",
                    MetricType::Counter,
                    {}};
  FamilySpec mailbox{"epochd_mailbox_commands",
                     "Commands that wait for the control thread.",
                     MetricType::Gauge,
                     {}};
  FamilySpec overloads{"epochd_overload_refusals_total",
                       "Commands refused since too many waited for the "
                       "control thread.",
                       MetricType::Counter,
                       {}};
  FamilySpec dropped{"epochd_metrics_dropped_series_total",
                     "Series left out of scrapes since their family was full.",
                     MetricType::Counter,
                     {}};
};

struct JobFamilies {
  FamilySpec info{"epochd_job_info",
                  "Joins the name and project of an active job to its id; "
                  "always 1.",
                  MetricType::Gauge,
                  {"job_id", "name", "project"}};
  FamilySpec epoch{"epochd_train_epoch",
                   "Epoch that an active job is in, from 0 on.",
                   MetricType::Gauge,
                   {"job_id"}};
  FamilySpec loss{"epochd_train_loss",
                  "Newest known loss of an active job by phase.",
                  MetricType::Gauge,
                  {"job_id", "phase"}};
  FamilySpec metric{"epochd_train_metric",
                    "Metrics of the last finished epoch of an active job.",
                    MetricType::Gauge,
                    {"job_id", "phase", "metric"}};
  FamilySpec speed{"epochd_train_samples_per_second",
                   "Samples per second as an active job last reported.",
                   MetricType::Gauge,
                   {"job_id"}};
  FamilySpec epoch_time{"epochd_train_epoch_seconds",
                        "Time that the last finished epoch of an active job "
                        "took to train.",
                        MetricType::Gauge,
                        {"job_id"}};
  FamilySpec data_wait{"epochd_train_data_wait_seconds",
                       "Part of epochd_train_epoch_seconds that the training "
                       "waited for data.",
                       MetricType::Gauge,
                       {"job_id"}};
  FamilySpec checkpoint_age{"epochd_checkpoint_age_seconds",
                            "Time since the newest recorded checkpoint of an "
                            "active job was made.",
                            MetricType::Gauge,
                            {"job_id"}};
};

const FleetFamilies& Fleet() {
  static const FleetFamilies families;
  return families;
}

const JobFamilies& Jobs() {
  static const JobFamilies families;
  return families;
}

bool IsWord(std::string_view word) {
  return !word.empty() && word.size() <= 32 &&
         std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// Builds families one after the other and counts what they drop.
class Output {
 public:
  explicit Output(int64_t max_series) : max_series_(max_series) {}

  template <typename Fill>
  void Family(const FamilySpec& spec, Fill fill) {
    FamilyBuilder builder(spec, max_series_);
    fill(builder);
    num_dropped_ += builder.num_dropped();
    families_.push_back(builder.Take());
  }
  void Value(const FamilySpec& spec, double value) {
    Family(spec, [&](FamilyBuilder& family) { family.Add({}, value); });
  }
  template <size_t kNumBounds>
  void Histogram(const FamilySpec& spec,
                 const std::array<double, kNumBounds>& bounds,
                 const control::SecondsHistogram<kNumBounds>& histogram) {
    Family(spec, [&](FamilyBuilder& family) {
      family.AddHistogram({bounds.begin(), bounds.end()},
                          {histogram.counts.begin(), histogram.counts.end()},
                          histogram.sum_seconds);
    });
  }
  // One series per active job for which `value` knows one.
  template <typename ValueOf>
  void PerJob(const FamilySpec& spec, const control::Stats& stats,
              ValueOf value) {
    Family(spec, [&](FamilyBuilder& family) {
      for (const control::JobView& view : stats.active_jobs) {
        if (const std::optional<double> known = value(view)) {
          family.Add({view.job->id.ToString()}, *known);
        }
      }
    });
  }

  int64_t num_dropped() const { return num_dropped_; }
  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  const int64_t max_series_;
  int64_t num_dropped_ = 0;
  std::vector<prometheus::MetricFamily> families_;
};

void AddFleet(const control::Stats& stats, Output& out) {
  out.Family(Fleet().jobs, [&](FamilyBuilder& family) {
    for (const job::JobState state : job::AllJobStates()) {
      const auto found = stats.jobs.find(state);
      family.Add(
          {std::string(Name(state))},
          found == stats.jobs.end() ? 0.0 : static_cast<double>(found->second));
    }
  });
  out.Family(Fleet().workers, [&](FamilyBuilder& family) {
    for (const fleet::WorkerState state : fleet::AllWorkerStates()) {
      const auto found = stats.workers.find(state);
      family.Add({std::string(fleet::Name(state))},
                 found == stats.workers.end()
                     ? 0.0
                     : static_cast<double>(found->second));
    }
  });
  out.Family(Fleet().devices, [&](FamilyBuilder& family) {
    for (const auto kind : {job::DeviceKind::kCpu, job::DeviceKind::kGpu}) {
      control::DeviceCount count;
      if (const auto found = stats.devices.find(kind);
          found != stats.devices.end()) {
        count = found->second;
      }
      const std::string name(job::Name(kind));
      family.Add({name, "free"}, static_cast<double>(count.total - count.held));
      family.Add({name, "used"}, static_cast<double>(count.held));
    }
  });
  out.Histogram(Fleet().queue_wait, control::kQueueWaitBounds,
                stats.queue_wait);
  out.Histogram(Fleet().scheduler_pass, control::kSchedulerPassBounds,
                stats.scheduler_pass);
  out.Value(Fleet().events, static_cast<double>(stats.num_events));
  out.Value(Fleet().commit_failures,
            static_cast<double>(stats.num_commit_failures));
  out.Value(Fleet().removed_jobs, static_cast<double>(stats.num_removed_jobs));
  out.Value(Fleet().fenced, static_cast<double>(stats.num_fenced));
  out.Value(Fleet().overloads, static_cast<double>(stats.num_overloads));
  out.Value(Fleet().mailbox, static_cast<double>(stats.mailbox_length));
}

// Newest loss by phase: of the last finished epoch, and of the progress in the
// phase that runs.
std::map<std::string, double> Losses(const control::JobView& view) {
  std::map<std::string, double> losses;
  for (const auto& [name, value] : view.job->metrics) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos || name.substr(slash) != "/loss") continue;
    if (IsMetricName(name)) losses[name.substr(0, slash)] = value;
  }
  if (view.progress && IsWord(view.progress->phase)) {
    losses[view.progress->phase] = view.progress->loss;
  }
  return losses;
}

void AddJobs(const control::Stats& stats,
             const FleetCollector::Options& options, Output& out,
             int64_t& num_dropped) {
  const absl::Time now = options.now();
  out.Family(Jobs().info, [&](FamilyBuilder& family) {
    for (const control::JobView& view : stats.active_jobs) {
      family.Add(
          {view.job->id.ToString(), LabelText(view.job->spec->display_name),
           LabelText(view.job->spec->project)},
          1);
    }
  });
  out.PerJob(Jobs().epoch, stats, [](const control::JobView& view) {
    return view.progress ? std::optional<double>(view.progress->epoch)
                         : std::nullopt;
  });
  out.Family(Jobs().loss, [&](FamilyBuilder& family) {
    for (const control::JobView& view : stats.active_jobs) {
      for (const auto& [phase, loss] : Losses(view)) {
        family.Add({view.job->id.ToString(), phase}, loss);
      }
    }
  });
  out.Family(Jobs().metric, [&](FamilyBuilder& family) {
    for (const control::JobView& view : stats.active_jobs) {
      int num_metrics = 0;
      for (const auto& [name, value] : view.job->metrics) {
        if (!IsMetricName(name) ||
            ++num_metrics > options.max_metrics_per_job) {
          ++num_dropped;
          continue;
        }
        const std::size_t slash = name.find('/');
        family.Add({view.job->id.ToString(), name.substr(0, slash),
                    name.substr(slash + 1)},
                   value);
      }
    }
  });
  out.PerJob(Jobs().speed, stats, [](const control::JobView& view) {
    return view.progress
               ? std::optional<double>(view.progress->samples_per_second)
               : std::nullopt;
  });
  const auto of_epoch = [](absl::Duration job::Job::*member) {
    return [member](const control::JobView& view) {
      // No epoch takes no time: none was told of.
      return view.job->epoch_time > absl::ZeroDuration()
                 ? std::optional<double>(
                       absl::ToDoubleSeconds((*view.job).*member))
                 : std::nullopt;
    };
  };
  out.PerJob(Jobs().epoch_time, stats, of_epoch(&job::Job::epoch_time));
  out.PerJob(Jobs().data_wait, stats, of_epoch(&job::Job::data_wait));
  out.PerJob(Jobs().checkpoint_age, stats, [&](const control::JobView& view) {
    const auto& checkpoints = view.job->checkpoints;
    if (checkpoints.empty()) return std::optional<double>();
    // Clocks of two machines may disagree.
    const absl::Duration age =
        std::max(now - checkpoints.back().create_time, absl::ZeroDuration());
    return std::optional<double>(absl::ToDoubleSeconds(age));
  });
}

}  // namespace

bool IsMetricName(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && IsWord(name.substr(0, slash)) &&
         IsWord(name.substr(slash + 1));
}

FleetCollector::FleetCollector(Options options,
                               std::function<control::Stats()> stats)
    : options_(std::move(options)), stats_(std::move(stats)) {}

std::vector<prometheus::MetricFamily> FleetCollector::Collect() const {
  const control::Stats stats = stats_();
  Output out(options_.max_series_per_family);
  int64_t num_dropped = 0;
  AddFleet(stats, out);
  AddJobs(stats, options_, out, num_dropped);
  num_dropped_ += num_dropped + out.num_dropped();
  out.Value(Fleet().dropped, static_cast<double>(num_dropped_));
  return out.Take();
}

}  // namespace epochd::metrics
