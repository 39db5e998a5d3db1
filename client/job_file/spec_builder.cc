// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/spec_builder.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "catalogue/type.h"
#include "client/job_file/section.h"
#include "proto/wire/limits.h"
#include "proto/wire/time.h"

namespace epochd::client {
namespace {

bool IsName(const std::string& name) {
  constexpr size_t kLongestName = 63;
  const auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), is_inner) &&
         name.front() != '-' && name.back() != '-';
}

std::optional<std::string> Name(Section& section, const std::string& key) {
  std::optional<std::string> name = section.Text(key);
  if (name && !IsName(*name)) {
    section.Report(key, "not a name " + Quoted(*name) +
                            ", up to 63 of a-z, 0-9 and inner '-' are "
                            "accepted");
  }
  return name;
}

google::protobuf::Duration Seconds(double seconds) {
  return wire::ToProto(absl::Seconds(seconds));
}

void ReadReplicas(Document& document, Section& resources, v1::Resources& out) {
  const Json* value = resources.Take("replicas");
  v1::Replicas& replicas = *out.mutable_replicas();
  replicas.set_min(1);
  replicas.set_max(1);
  if (value == nullptr) return;
  if (!value->is_object()) {
    if (const auto number =
            resources.Integer("replicas", 1, wire::kMaxReplicas)) {
      replicas.set_min(static_cast<int32_t>(*number));
      replicas.set_max(static_cast<int32_t>(*number));
    }
    return;
  }
  Section range(document, resources.FieldOf("replicas"));
  const auto min = range.Integer("min", 1, wire::kMaxReplicas);
  const auto max = range.Integer("max", 1, wire::kMaxReplicas);
  range.Finish();
  replicas.set_min(static_cast<int32_t>(min.value_or(1)));
  replicas.set_max(static_cast<int32_t>(max.value_or(replicas.min())));
  if (replicas.max() < replicas.min()) {
    range.Report("max", "expected at least min, which is " +
                            std::to_string(replicas.min()) + ", got " +
                            std::to_string(replicas.max()));
  }
}

void ReadResources(Document& document, v1::Resources& out) {
  Section resources(document, "resources");
  ReadReplicas(document, resources, out);
  const auto device = resources.Choice("device", {"cpu", "gpu"});
  out.set_device(device == "gpu" ? v1::DEVICE_KIND_GPU : v1::DEVICE_KIND_CPU);
  if (const auto cpus = resources.Integer("cpus", 1, wire::kMaxCpus)) {
    out.set_cpus(static_cast<int32_t>(*cpus));
  }
  if (const auto memory = resources.Bytes("memory")) {
    out.set_memory_bytes(*memory);
  }
  const Json* model = resources.Take("model");
  if (model != nullptr && model->is_string()) {
    out.add_models(model->get<std::string>());
  } else if (model != nullptr) {
    for (std::string& name : resources.Texts("model")) {
      out.add_models(std::move(name));
    }
  }
  if (resources.Take("nodes") != nullptr) {
    Section nodes(document, resources.FieldOf("nodes"));
    for (auto& [key, value] : nodes.TextMap("labels")) {
      (*out.mutable_node_labels())[key] = value;
    }
    nodes.Finish();
  }
  if (const auto same =
          resources.Choice("same_node", {"preferred", "required"})) {
    out.set_same_node(*same == "required" ? v1::PLACEMENT_REQUIRED
                                          : v1::PLACEMENT_PREFERRED);
  }
  resources.Finish();
}

// Reasons that a job file may name, as ReasonName() spells them.
std::vector<std::string> RestartReasons() {
  std::vector<std::string> names;
  for (const v1::AttemptReason reason :
       {v1::ATTEMPT_REASON_WORKER_LOST, v1::ATTEMPT_REASON_RANK_LOST,
        v1::ATTEMPT_REASON_HANG, v1::ATTEMPT_REASON_OOM_HOST,
        v1::ATTEMPT_REASON_START_FAILED, v1::ATTEMPT_REASON_TRAINING_FAILED}) {
    names.push_back(ReasonName(reason));
  }
  return names;
}

void ReadRestart(Document& document, v1::RestartPolicy& out) {
  Section restart(document, "restart");
  if (const auto max = restart.Integer("max", 0, wire::kMaxRestarts)) {
    out.set_max(static_cast<int32_t>(*max));
  }
  const std::vector<std::string> known = RestartReasons();
  const std::vector<std::string> reasons = restart.Texts("reasons");
  for (size_t i = 0; i < reasons.size(); ++i) {
    if (std::find(known.begin(), known.end(), reasons[i]) != known.end()) {
      std::string name = "ATTEMPT_REASON_" + reasons[i];
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return std::toupper(c); });
      v1::AttemptReason reason = v1::ATTEMPT_REASON_UNSPECIFIED;
      v1::AttemptReason_Parse(name, &reason);
      out.add_reasons(reason);
      continue;
    }
    std::string message = "unknown reason " + Quoted(reasons[i]);
    if (const auto nearest = catalogue::Nearest(reasons[i], known)) {
      message += ", did you mean '" + *nearest + "'?";
    } else {
      message += ", known are ";
      for (const std::string& name : known) {
        message += (&name == &known.front() ? "" : ", ") + name;
      }
    }
    document.Report(catalogue::AppendIndex("restart.reasons", i),
                    std::move(message));
  }
  if (const auto backoff = restart.Duration("backoff")) {
    *out.mutable_backoff() = Seconds(*backoff);
  }
  if (const auto after = restart.Duration("worker_lost_after")) {
    *out.mutable_worker_lost_after() = Seconds(*after);
  }
  restart.Finish();
}

void ReadCheckpoints(Document& document, v1::CheckpointPolicy& out) {
  Section checkpoints(document, "checkpoints");
  if (const auto every = checkpoints.Every("every")) {
    if (every->epochs) {
      out.mutable_every()->set_epochs(*every->epochs);
    } else if (every->steps) {
      out.mutable_every()->set_steps(*every->steps);
    } else {
      *out.mutable_every()->mutable_duration() = Seconds(*every->seconds);
    }
  }
  if (const auto keep =
          checkpoints.Integer("keep_last", 1, wire::kMaxKeptCheckpoints)) {
    out.set_keep_last(static_cast<int32_t>(*keep));
  }
  if (const auto keep =
          checkpoints.Integer("keep_best", 0, wire::kMaxKeptCheckpoints)) {
    out.set_keep_best(static_cast<int32_t>(*keep));
  }
  checkpoints.Finish();
}

void ReadWork(Document& document, Section& top, v1::JobSpec& spec) {
  const bool has_experiment = top.Take("experiment") != nullptr;
  const std::vector<std::string> command = top.Texts("command");
  const bool has_command = top.Take("command") != nullptr;
  if (has_experiment && has_command) {
    top.Report("command", "given beside 'experiment'; a job has one of them");
  } else if (!has_experiment && !has_command) {
    document.Report("", "missing 'experiment' (or 'command'), nothing to run");
  } else if (has_command) {
    const Json& value = document.value.at("command");
    if (value.is_array() && value.empty()) {
      top.Report("command", "empty, names the program and its arguments");
    }
    for (const std::string& argument : command) {
      spec.mutable_command()->add_argv(argument);
    }
  }
}

bool IsVariable(const std::string& name) {
  return !name.empty() && name.find('=') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// Seconds; 0 for `never`.
std::optional<double> Silence(Section& section, const std::string& key) {
  const Json* value = section.Take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    if (text == "never") return 0;
    if (const auto seconds = catalogue::ParseDuration(text)) return seconds;
  }
  section.Report(key, "expected a duration such as 10m or 2h, or never, got " +
                          Quoted(*value));
  return std::nullopt;
}

}  // namespace

std::string ReasonName(v1::AttemptReason reason) {
  std::string name = v1::AttemptReason_Name(reason);
  constexpr std::string_view kPrefix = "ATTEMPT_REASON_";
  if (name.starts_with(kPrefix)) name = name.substr(kPrefix.size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return name;
}

v1::JobSpec BuildSpec(Document& document, const std::string& default_name) {
  v1::JobSpec spec;
  if (!document.value.is_object()) {
    document.Report("", "expected a mapping, got " + Quoted(document.value));
    return spec;
  }
  Section top(document, "");
  spec.set_display_name(Name(top, "name").value_or(default_name));
  spec.set_project(Name(top, "project").value_or("default"));
  if (const auto priority = top.Integer("priority", 0, wire::kMaxPriority)) {
    spec.set_priority(static_cast<int32_t>(*priority));
  }
  for (auto& [key, value] : top.TextMap("labels")) {
    (*spec.mutable_labels())[key] = value;
  }
  top.Take("resources");
  ReadResources(document, *spec.mutable_resources());
  if (top.Take("restart") != nullptr) {
    ReadRestart(document, *spec.mutable_restart());
  }
  if (top.Take("limits") != nullptr) {
    Section limits(document, "limits");
    if (const auto time = limits.Duration("max_time")) {
      *spec.mutable_limits()->mutable_max_time() = Seconds(*time);
    }
    if (const auto silence = Silence(limits, "hang_after")) {
      *spec.mutable_limits()->mutable_hang_after() = Seconds(*silence);
    }
    limits.Finish();
  }
  if (const auto storage = top.Text("storage")) spec.set_storage(*storage);
  if (top.Take("checkpoints") != nullptr) {
    ReadCheckpoints(document, *spec.mutable_checkpoints());
  }
  ReadWork(document, top, spec);
  top.Take("files");
  for (auto& [key, value] : top.TextMap("env")) {
    if (!IsVariable(key)) {
      document.Report(catalogue::AppendKey("env", key),
                      "not the name of a variable");
    }
    (*spec.mutable_env())[key] = value;
  }
  top.Finish();
  return spec;
}

}  // namespace epochd::client
