// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/job_samples.h"

#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <variant>

#include "absl/time/time.h"

namespace epochd::store {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

job::Checkpoint FullCheckpoint(const std::string& path) {
  job::Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.attempt = job::AttemptNumber(2);
  checkpoint.epoch = 3;
  checkpoint.step = 1234567890123;
  checkpoint.batch = 5;
  checkpoint.best = true;
  checkpoint.size_bytes = 678;
  checkpoint.manifest_sha256 = "abc";
  checkpoint.metrics = {{"val/loss", kNan}, {"val/accuracy", 0.5}};
  checkpoint.create_time = absl::FromUnixNanos(1700000000123456789);
  checkpoint.world_size = 2;
  checkpoint.removed = true;
  return checkpoint;
}

job::RankPlacement FullRank() {
  return {1, job::WorkerId("w1"), {"cpu:0", "cpu:1"}, "folder", 3, 9};
}

// ---- texts ------------------------------------------------------------------

class Text {
 public:
  template <typename... Values>
  explicit Text(const Values&... values) {
    (Add(values), ...);
  }
  std::string str() const { return out_.str(); }

 private:
  void Add(const std::string& value) { out_ << '\'' << value << "' "; }
  void Add(const char* value) { out_ << value << ' '; }
  void Add(double value) { out_ << value << ' '; }
  void Add(absl::Time value) { Add(absl::FormatTime(value)); }
  void Add(absl::Duration value) { Add(absl::FormatDuration(value)); }
  void Add(job::AttemptNumber value) { Add(int64_t{value.value()}); }
  void Add(const job::RankPlacement& value) {
    out_ << Text(value.rank, value.worker.name(), value.devices, value.work_dir,
                 value.exit_code, value.term_signal)
                .str();
  }
  void Add(const job::BestMetric& value) {
    out_ << Text(value.name, value.value, value.epoch).str();
  }
  void Add(const job::FileRef& value) {
    out_ << Text(value.path, value.sha256, value.size_bytes, value.executable)
                .str();
  }
  void Add(const job::Checkpoint& value) {
    out_ << Text(value.path, value.attempt, value.epoch, value.step,
                 value.batch, value.best, value.size_bytes,
                 value.manifest_sha256, value.metrics, value.create_time,
                 value.world_size, value.removed)
                .str();
  }
  void Add(const job::Attempt& value) {
    out_ << Text(value.number, value.state, value.reason, value.message,
                 value.assign_time, value.start_time, value.end_time,
                 value.ranks)
                .str();
  }
  template <typename Value>
  void Add(const std::optional<Value>& value) {
    if (value) {
      Add(*value);
    } else {
      out_ << "none ";
    }
  }
  template <typename Value>
  void Add(const std::vector<Value>& values) {
    out_ << "[ ";
    for (const auto& value : values) Add(value);
    out_ << "] ";
  }
  template <typename Value>
  void Add(const std::map<std::string, Value>& values) {
    out_ << "{ ";
    for (const auto& [key, value] : values) {
      Add(key);
      Add(value);
    }
    out_ << "} ";
  }
  template <typename Number>
  requires(std::is_integral_v<Number> ||
           std::is_enum_v<Number>) void Add(Number value) {
    out_ << static_cast<int64_t>(value) << ' ';
  }

  std::ostringstream out_;
};

struct DescribeBody {
  std::string operator()(const job::JobSubmitted& b) const {
    return Text("submitted", b.submit_number,
                b.spec ? Describe(*b.spec) : "no spec")
        .str();
  }
  std::string operator()(const job::JobStateChanged& b) const {
    return Text("job", b.state, b.reason, b.message).str();
  }
  std::string operator()(const job::AttemptStateChanged& b) const {
    return Text("attempt", b.state, b.reason, b.message, b.ranks, b.run_time,
                b.counts_as_restart)
        .str();
  }
  std::string operator()(const job::TrainingBegan& b) const {
    return Text("began", b.total_epochs, b.initial_epoch, b.initial_batch,
                b.train_batches, b.val_batches, b.train_samples, b.val_samples,
                b.parameters, b.resumed_from)
        .str();
  }
  std::string operator()(const job::FirstStep& b) const {
    return Text("first step", b.step).str();
  }
  std::string operator()(const job::EpochStarted& b) const {
    return Text("epoch started", b.epoch).str();
  }
  std::string operator()(const job::EpochFinished& b) const {
    return Text("epoch finished", b.epoch, b.metrics, b.learning_rates,
                b.elapsed, b.samples_per_second, b.step, b.data_wait)
        .str();
  }
  std::string operator()(const job::MetricsLogged& b) const {
    return Text("metrics", b.epoch, b.step, b.metrics).str();
  }
  std::string operator()(const job::CheckpointSaved& b) const {
    return Text("saved", b.checkpoint).str();
  }
  std::string operator()(const job::CheckpointRemoved& b) const {
    return Text("removed", b.checkpoint).str();
  }
  std::string operator()(const job::TrainingEnded& b) const {
    return Text("ended", b.outcome, b.message, b.epochs, b.best, b.outputs)
        .str();
  }
  std::string operator()(const job::Notice& b) const {
    return Text("notice", b.severity, b.text, b.rank).str();
  }
};

}  // namespace

std::string Describe(const job::JobSpec& s) {
  return Text(s.display_name, s.project, s.priority, s.labels,
              s.resources.replicas.min, s.resources.replicas.max,
              s.resources.device, s.resources.cpus, s.resources.memory_bytes,
              s.resources.models, s.resources.node_labels,
              s.resources.same_node, s.restart.max, s.restart.reasons,
              s.restart.backoff, s.restart.worker_lost_after, s.max_time,
              s.hang_after, s.storage, s.checkpoints.every.epochs,
              s.checkpoints.every.steps, s.checkpoints.every.duration,
              s.checkpoints.keep_last, s.checkpoints.keep_best,
              s.experiment_json, s.command, s.files, s.env,
              s.required_components)
      .str();
}

std::string Describe(const job::Event& event) {
  return Text(event.sequence, event.time, event.attempt).str() +
         std::visit(DescribeBody(), event.body);
}

std::string Describe(const std::vector<job::Event>& events) {
  std::string text;
  for (const job::Event& event : events) text += Describe(event) + "\n";
  return text;
}

std::string Describe(const job::Job& j) {
  return Text(j.id.ToString(), j.spec ? Describe(*j.spec) : "no spec",
              j.submit_number, j.state, j.reason, j.message, j.create_time,
              j.start_time, j.end_time, j.attempts, j.num_restarts, j.run_time,
              j.metrics, j.best, j.epoch, j.total_epochs, j.epoch_time,
              j.data_wait, j.last_sequence, j.checkpoints, j.outputs)
      .str();
}

// ---- samples ----------------------------------------------------------------

job::JobSpec FullSpec() {
  job::JobSpec spec;
  spec.display_name = "digits";
  spec.project = "vision";
  spec.priority = 7;
  spec.labels = {{"team", "vision"}, {"tier", "gold"}};
  spec.resources = {
      {2, 4},          job::DeviceKind::kGpu,    3, 1 << 20, {"H200"},
      {{"zone", "a"}}, job::Placement::kRequired};
  spec.restart = {5,
                  {job::AttemptReason::kHang, job::AttemptReason::kRankLost},
                  absl::Milliseconds(1500),
                  absl::InfiniteDuration()};
  spec.max_time = absl::Hours(1);
  spec.hang_after = absl::Minutes(7);
  spec.storage = "/storage";
  spec.checkpoints = {{0, 0, absl::Minutes(10)}, 4, 2};
  spec.experiment_json = R"({"seed":42})";
  spec.command = {"python", "train.py"};
  spec.files = {{"train.py", std::string(64, 'a'), 12, true}};
  spec.env = {{"OMP_NUM_THREADS", "1"}};
  spec.required_components = {"model.MLP"};
  return spec;
}

fleet::WorkerRecord FullWorker(const std::string& name) {
  fleet::WorkerRecord worker;
  worker.id = job::WorkerId(name);
  worker.incarnation = job::Incarnation("i-1");
  worker.boot_id = "boot";
  worker.work_dir = "folder";
  worker.hostname = "host";
  worker.version = "0.1.0";
  worker.devices = {{"cpu:0", job::DeviceKind::kCpu, "some cpu", 0},
                    {"GPU-1", job::DeviceKind::kGpu, "H200", 1 << 30}};
  worker.labels = {{"zone", "a"}};
  worker.memory_bytes = 1 << 20;
  worker.catalogue_sha256 = "hash";
  worker.components = {"model.MLP", "loss.MSE"};
  worker.register_time = absl::FromUnixSeconds(1700000000);
  worker.draining = true;
  return worker;
}

std::vector<job::EventBody> OneOfEach() {
  job::TrainingBegan began{1, 2, 3, 4, 5, 6, 7, 8, "/resumed"};
  job::EpochFinished finished{4,
                              {{"train/loss", kNan}, {"val/loss", -kInfinity}},
                              {{"lr", 1e-3}},
                              absl::Milliseconds(20),
                              1e5,
                              99,
                              absl::Milliseconds(3)};
  job::TrainingEnded ended{job::TrainingEnded::Outcome::kStopped,
                           "stopped",
                           9,
                           job::BestMetric{"val/loss", 0.25, 7},
                           {{"metrics", "/m.jsonl"}}};
  return {job::JobStateChanged{job::JobState::kStarting,
                               job::JobReason::kAssigned, "assigned"},
          job::AttemptStateChanged{job::AttemptState::kEnded,
                                   job::AttemptReason::kHang,
                                   "hung",
                                   {FullRank()},
                                   absl::Seconds(12),
                                   true},
          began,
          job::FirstStep{11},
          job::EpochStarted{12},
          finished,
          job::MetricsLogged{13, 14, {{"train/loss", kInfinity}}},
          job::CheckpointSaved{FullCheckpoint("/c1")},
          job::CheckpointRemoved{FullCheckpoint("/c0")},
          ended,
          job::Notice{job::Notice::Severity::kWarning,
                      std::string("no utf-8 \xff and a zero \0 byte", 26), 3}};
}

// ---- SampleJob --------------------------------------------------------------

SampleJob::SampleJob(int64_t submit_number, job::JobSpec spec) {
  job_.id = job::JobId(7, static_cast<uint64_t>(submit_number));
  job_.submit_number = submit_number;
  job_.spec = std::make_shared<const job::JobSpec>(std::move(spec));
  job_.create_time = absl::FromUnixSeconds(1700000000 + submit_number);
}

JobWrite SampleJob::Append(const std::vector<job::EventBody>& bodies) {
  JobWrite write;
  for (const job::EventBody& body : bodies) {
    job::Event event;
    event.sequence = ++job_.last_sequence;
    event.time = job_.create_time + absl::Milliseconds(event.sequence);
    event.attempt = job::AttemptNumber(event.sequence > 1 ? 1 : 0);
    event.body = body;
    write.events.push_back(event);
    events_.push_back(event);
  }
  write.job = std::make_shared<const job::Job>(job_);
  return write;
}

JobWrite SampleJob::Begin() {
  job_.state = job::JobState::kQueued;
  job_.reason = job::JobReason::kSubmitted;
  return Append({job::JobSubmitted{job_.spec, job_.submit_number}});
}

JobWrite SampleJob::MoveTo(job::JobState state) {
  job_.state = state;
  return Append({job::JobStateChanged{state, job_.reason, ""}});
}

JobWrite SampleJob::Finish(job::JobState state, absl::Time time) {
  job_.end_time = time;
  return MoveTo(state);
}

JobWrite SampleJob::Fill() {
  job_.message = "filled";
  job_.start_time = job_.create_time + absl::Seconds(1);
  job::Attempt attempt;
  attempt.number = job::AttemptNumber(1);
  attempt.state = job::AttemptState::kEnded;
  attempt.reason = job::AttemptReason::kOomHost;
  attempt.message = "out of memory";
  attempt.assign_time = job_.create_time;
  attempt.end_time = job_.create_time + absl::Seconds(2);
  attempt.ranks = {FullRank()};
  job_.attempts = {attempt};
  job_.num_restarts = 1;
  job_.run_time = absl::Seconds(3);
  job_.metrics = {{"val/loss", kNan}};
  job_.epoch = 3;
  job_.total_epochs = 30;
  job_.epoch_time = absl::Seconds(7);
  job_.data_wait = absl::Milliseconds(70);
  job_.best = job::BestMetric{"val/accuracy", 0.9, 4};
  job_.checkpoints = {FullCheckpoint("/c1"), FullCheckpoint("/c2")};
  job_.outputs = {{"metrics", "/m.jsonl"}};
  return Append({job::FirstStep{1}});
}

}  // namespace epochd::store
