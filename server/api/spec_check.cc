// SPDX-License-Identifier: Apache-2.0
#include "server/api/spec_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "catalogue/catalogue.h"
#include "proto/wire/limits.h"
#include "proto/wire/time.h"
#include "server/api/field_rules.h"
#include "server/api/json_limits.h"
#include "server/events/file_store.h"

namespace epochd::api {
namespace {

constexpr int64_t kMaxMemory = int64_t{1} << 50;
constexpr int kMaxArguments = 1024;
// Of an experiment: rank 0 tells of its steps at least every few seconds, so
// only loading and compiling may be silent for long.
constexpr absl::Duration kHangAfter = absl::Minutes(30);
constexpr size_t kMaxArgumentBytes = 32 << 10;

std::map<std::string, std::string> ToMap(
    const google::protobuf::Map<std::string, std::string>& map) {
  return {map.begin(), map.end()};
}

// One spec on its way in. Each function checks one section and fills it in.
class Checker {
 public:
  Checker(const v1::JobSpec& in, const KnownCatalogue* known,
          int64_t max_file_bytes)
      : in_(in), known_(known), max_file_bytes_(max_file_bytes) {}

  CheckedSpec Check() {
    if (in_.ByteSizeLong() > static_cast<size_t>(kMaxSpecBytes)) {
      rules_.Add("",
                 absl::StrCat("job of ", in_.ByteSizeLong(), " bytes, at most ",
                              kMaxSpecBytes, " are accepted"));
    } else {
      CheckHead();
      CheckResources();
      CheckRestart();
      CheckPolicies();
      CheckFiles();
      CheckWork();
    }
    return {std::move(out_), std::move(rules_.violations())};
  }

 private:
  void CheckHead() {
    out_.display_name = in_.display_name().empty() ? "job" : in_.display_name();
    rules_.Name("name", out_.display_name);
    if (!in_.project().empty()) out_.project = in_.project();
    rules_.Name("project", out_.project);
    if (in_.has_priority()) out_.priority = in_.priority();
    rules_.InRange("priority", out_.priority, 0, wire::kMaxPriority);
    out_.labels = ToMap(in_.labels());
    rules_.Labels("labels", out_.labels);
    out_.storage = in_.storage();
    if (!out_.storage.empty()) rules_.AbsolutePath("storage", out_.storage);
    out_.env = ToMap(in_.env());
    rules_.Environment("env", out_.env);
  }

  void CheckReplicas(const v1::Replicas& in) {
    auto& out = out_.resources.replicas;
    out.min = in.min();
    out.max = in.max();
    if (in.min() == in.max()) {
      rules_.InRange("resources.replicas", in.min(), 1, wire::kMaxReplicas);
      return;
    }
    rules_.InRange("resources.replicas.min", in.min(), 1, wire::kMaxReplicas);
    rules_.InRange("resources.replicas.max", in.max(), 1, wire::kMaxReplicas);
    if (in.min() > in.max()) {
      rules_.Add("resources.replicas",
                 absl::StrCat("min '", in.min(), "' is more than max '",
                              in.max(), "', min up to max is accepted"));
    }
  }

  void CheckResources() {
    const v1::Resources& in = in_.resources();
    auto& out = out_.resources;
    if (in.has_replicas()) CheckReplicas(in.replicas());
    if (in.device() == v1::DEVICE_KIND_GPU) {
      out.device = job::DeviceKind::kGpu;
    } else if (in.device() != v1::DEVICE_KIND_UNSPECIFIED &&
               in.device() != v1::DEVICE_KIND_CPU) {
      Unknown("resources.device", in.device(), "cpu or gpu is accepted");
    }
    out.cpus = in.cpus() == 0 ? 1 : in.cpus();
    rules_.InRange("resources.cpus", out.cpus, 1, wire::kMaxCpus);
    out.memory_bytes = in.memory_bytes();
    rules_.InRange("resources.memory", out.memory_bytes, 0, kMaxMemory);
    if (in.models_size() > 16) {
      rules_.Add(
          "resources.model",
          absl::StrCat(in.models_size(), " models, at most 16 are accepted"));
    }
    for (int i = 0; i < std::min(in.models_size(), 16); ++i) {
      const std::string here = catalogue::AppendIndex("resources.model", i);
      if (in.models(i).empty()) {
        rules_.Add(here, "empty model '', a name such as 'H200' is accepted");
      }
      rules_.Text(here, in.models(i), 64);
      out.models.push_back(in.models(i));
    }
    out.node_labels = ToMap(in.node_labels());
    rules_.Labels("resources.nodes.labels", out.node_labels);
    if (v1::Placement_IsValid(in.same_node())) {
      out.same_node = static_cast<job::Placement>(in.same_node());
    } else {
      Unknown("resources.same_node", in.same_node(),
              "preferred or required is accepted");
    }
  }

  void CheckRestart() {
    const v1::RestartPolicy& in = in_.restart();
    auto& out = out_.restart;
    if (in.has_max()) out.max = in.max();
    rules_.InRange("restart.max", out.max, 0, wire::kMaxRestarts);
    if (in.reasons_size() > 16) {
      rules_.Add(
          "restart.reasons",
          absl::StrCat(in.reasons_size(), " reasons, at most 16 are accepted"));
      return;
    }
    for (int i = 0; i < in.reasons_size(); ++i) {
      const auto reason = static_cast<job::AttemptReason>(in.reasons(i));
      if (!MayRestart(in.reasons(i))) {
        const std::string shown =
            v1::AttemptReason_IsValid(in.reasons(i))
                ? std::string(job::Name(reason))
                : absl::StrCat(static_cast<int>(in.reasons(i)));
        rules_.Add(catalogue::AppendIndex("restart.reasons", i),
                   absl::StrCat("reason ", Quote(shown),
                                " does not restart a job, accepted are "
                                "training_failed, rank_lost, worker_lost, "
                                "hang, oom_host and start_failed"));
      }
      out.reasons.push_back(reason);
    }
    CheckDuration("restart.backoff", in.has_backoff(), in.backoff(),
                  absl::ZeroDuration(), absl::Hours(1), out.backoff);
    CheckDuration("restart.worker_lost_after", in.has_worker_lost_after(),
                  in.worker_lost_after(), absl::Seconds(5), absl::Hours(24),
                  out.worker_lost_after);
  }

  static bool MayRestart(int reason) {
    switch (reason) {
      case v1::ATTEMPT_REASON_TRAINING_FAILED:
      case v1::ATTEMPT_REASON_RANK_LOST:
      case v1::ATTEMPT_REASON_WORKER_LOST:
      case v1::ATTEMPT_REASON_HANG:
      case v1::ATTEMPT_REASON_OOM_HOST:
      case v1::ATTEMPT_REASON_START_FAILED:
        return true;
      default:
        return false;
    }
  }

  void CheckPolicies() {
    CheckDuration("limits.max_time", in_.limits().has_max_time(),
                  in_.limits().max_time(), absl::Seconds(1),
                  absl::Hours(24 * 365), out_.max_time);
    if (!in_.has_command()) out_.hang_after = kHangAfter;
    CheckDuration("limits.hang_after", in_.limits().has_hang_after(),
                  in_.limits().hang_after(), absl::ZeroDuration(),
                  absl::Hours(24 * 365), out_.hang_after);
    const v1::CheckpointPolicy& in = in_.checkpoints();
    auto& out = out_.checkpoints;
    const std::string every = "checkpoints.every";
    switch (in.every().interval_case()) {
      case v1::Every::kEpochs:
        out.every.epochs = in.every().epochs();
        rules_.InRange(every, out.every.epochs, 1, 1'000'000'000);
        break;
      case v1::Every::kSteps:
        out.every.steps = in.every().steps();
        rules_.InRange(every, out.every.steps, 1, 1'000'000'000'000);
        break;
      case v1::Every::kDuration:
        CheckDuration(every, true, in.every().duration(), absl::Seconds(1),
                      absl::Hours(24 * 365), out.every.duration);
        break;
      case v1::Every::INTERVAL_NOT_SET:
        if (!in_.has_command()) out.every.epochs = 1;
        break;
    }
    if (in.has_keep_last()) out.keep_last = in.keep_last();
    rules_.InRange("checkpoints.keep_last", out.keep_last, 1,
                   wire::kMaxKeptCheckpoints);
    if (in.has_keep_best()) out.keep_best = in.keep_best();
    rules_.InRange("checkpoints.keep_best", out.keep_best, 0,
                   wire::kMaxKeptCheckpoints);
  }

  void CheckDuration(const std::string& field, bool given,
                     const google::protobuf::Duration& in, absl::Duration least,
                     absl::Duration most, absl::Duration& out) {
    if (!given) return;
    out = wire::FromProto(in);
    if (out >= least && out <= most) return;
    rules_.Add(field, absl::StrCat("'", absl::FormatDuration(out),
                                   "' is out of range, ",
                                   absl::FormatDuration(least), " to ",
                                   absl::FormatDuration(most), " is accepted"));
  }

  void CheckFiles() {
    if (in_.files_size() > kMaxFiles) {
      rules_.Add("files", absl::StrCat(in_.files_size(), " files, at most ",
                                       kMaxFiles, " are accepted"));
      return;
    }
    std::set<std::string> paths;
    for (int i = 0; i < in_.files_size(); ++i) {
      const v1::FileRef& in = in_.files(i);
      const std::string here = catalogue::AppendIndex("files", i);
      rules_.RelativePath(here, in.path());
      if (!paths.insert(in.path()).second) {
        rules_.Add(here, absl::StrCat("path ", Quote(in.path()),
                                      " is given twice, each once is "
                                      "accepted"));
      }
      if (!events::IsSha256(in.sha256())) {
        rules_.Add(here, absl::StrCat("sha256 ", Quote(in.sha256()),
                                      " is none, 64 lower-case hex digits are "
                                      "accepted"));
      }
      rules_.InRange(here, in.size_bytes(), 0, max_file_bytes_);
      out_.files.push_back(
          {in.path(), in.sha256(), in.size_bytes(), in.executable()});
    }
  }

  void CheckWork() {
    switch (in_.work_case()) {
      case v1::JobSpec::kExperimentJson:
        CheckExperiment();
        return;
      case v1::JobSpec::kCommand:
        CheckCommand();
        return;
      case v1::JobSpec::WORK_NOT_SET:
        rules_.Add("experiment",
                   "missing, an experiment or a command is accepted");
    }
  }

  void CheckExperiment() {
    const auto json = ParseLimitedJson(in_.experiment_json(), "experiment", {},
                                       rules_.violations());
    out_.experiment_json = in_.experiment_json();
    if (!json) return;
    if (json->empty()) {
      rules_.Add("experiment", "empty, at least a model is accepted");
      return;
    }
    if (known_ == nullptr) return;
    catalogue::ValidateOptions options;
    options.max_replicas = out_.resources.replicas.max;
    auto validated = catalogue::Validate(known_->catalogue, *json, options);
    for (auto& violation : validated.violations) {
      rules_.Add(std::move(violation.field), std::move(violation.description));
    }
    out_.required_components = std::move(validated.components);
  }

  void CheckCommand() {
    const auto& argv = in_.command().argv();
    if (argv.empty() || argv[0].empty()) {
      rules_.Add("command", "empty, a program and its arguments are accepted");
      return;
    }
    if (argv.size() > kMaxArguments) {
      rules_.Add("command", absl::StrCat(argv.size(), " arguments, at most ",
                                         kMaxArguments, " are accepted"));
      return;
    }
    for (int i = 0; i < argv.size(); ++i) {
      rules_.Text(catalogue::AppendIndex("command", i), argv[i],
                  kMaxArgumentBytes);
      out_.command.push_back(argv[i]);
    }
  }

  void Unknown(const std::string& field, int value, const char* accepted) {
    rules_.Add(field, absl::StrCat("unknown value '", value, "', ", accepted));
  }

  const v1::JobSpec& in_;
  const KnownCatalogue* const known_;
  const int64_t max_file_bytes_;
  job::JobSpec out_;
  FieldRules rules_;
};

}  // namespace

CheckedSpec CheckSpec(const v1::JobSpec& spec, const KnownCatalogue* known,
                      int64_t max_file_bytes) {
  return Checker(spec, known, max_file_bytes).Check();
}

}  // namespace epochd::api
