// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/spec_writer.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "client/job_file/spec_builder.h"
#include "proto/wire/time.h"

namespace epochd::client {
namespace {

// "90s", "1500ms": the shortest exact way.
std::string DurationText(const google::protobuf::Duration& duration) {
  const int64_t milliseconds =
      absl::ToInt64Milliseconds(wire::FromProto(duration));
  constexpr std::array<std::pair<std::string_view, int64_t>, 4> kUnits = {
      {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}}};
  for (const auto& [unit, factor] : kUnits) {
    if (milliseconds % factor == 0) {
      return std::to_string(milliseconds / factor) + std::string(unit);
    }
  }
  return "";
}

// "1536MiB".
std::string SizeText(int64_t bytes) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kUnits = {
      {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}};
  for (const auto& [unit, shift] : kUnits) {
    if (bytes % (int64_t{1} << shift) == 0) {
      return std::to_string(bytes >> shift) + std::string(unit);
    }
  }
  return "";
}

std::string EveryText(const v1::Every& every) {
  if (every.has_epochs()) {
    return std::to_string(every.epochs()) +
           (every.epochs() == 1 ? " epoch" : " epochs");
  }
  if (every.has_steps()) {
    return std::to_string(every.steps()) +
           (every.steps() == 1 ? " step" : " steps");
  }
  return DurationText(every.duration());
}

Json Sorted(const google::protobuf::Map<std::string, std::string>& map) {
  Json json = Json::object();
  for (const auto& [key, value] :
       std::map<std::string, std::string>(map.begin(), map.end())) {
    json[key] = value;
  }
  return json;
}

Json ResourcesJson(const v1::Resources& in) {
  Json out = Json::object();
  if (in.has_replicas()) {
    const v1::Replicas& replicas = in.replicas();
    if (replicas.min() == replicas.max()) {
      out["replicas"] = replicas.max();
    } else {
      out["replicas"] = {{"min", replicas.min()}, {"max", replicas.max()}};
    }
  }
  if (in.device() != v1::DEVICE_KIND_UNSPECIFIED) {
    out["device"] = in.device() == v1::DEVICE_KIND_GPU ? "gpu" : "cpu";
  }
  if (in.cpus() > 0) out["cpus"] = in.cpus();
  if (in.memory_bytes() > 0) out["memory"] = SizeText(in.memory_bytes());
  for (const std::string& model : in.models()) out["model"].push_back(model);
  if (!in.node_labels().empty()) {
    out["nodes"]["labels"] = Sorted(in.node_labels());
  }
  if (in.same_node() != v1::PLACEMENT_UNSPECIFIED) {
    out["same_node"] =
        in.same_node() == v1::PLACEMENT_REQUIRED ? "required" : "preferred";
  }
  return out;
}

Json RestartJson(const v1::RestartPolicy& in) {
  Json out = Json::object();
  if (in.has_max()) out["max"] = in.max();
  for (const int reason : in.reasons()) {
    out["reasons"].push_back(
        ReasonName(static_cast<v1::AttemptReason>(reason)));
  }
  if (in.has_backoff()) out["backoff"] = DurationText(in.backoff());
  if (in.has_worker_lost_after()) {
    out["worker_lost_after"] = DurationText(in.worker_lost_after());
  }
  return out;
}

Json CheckpointsJson(const v1::CheckpointPolicy& in) {
  Json out = Json::object();
  if (in.every().interval_case() != v1::Every::INTERVAL_NOT_SET) {
    out["every"] = EveryText(in.every());
  }
  if (in.has_keep_last()) out["keep_last"] = in.keep_last();
  if (in.has_keep_best()) out["keep_best"] = in.keep_best();
  return out;
}

void PutUnlessEmpty(Json& out, const char* key, Json value) {
  if (!value.empty()) out[key] = std::move(value);
}

}  // namespace

Json ToJobFile(const v1::JobSpec& spec, const catalogue::Catalogue* catalogue) {
  Json out = Json::object();
  if (!spec.display_name().empty()) out["name"] = spec.display_name();
  if (!spec.project().empty()) out["project"] = spec.project();
  if (spec.has_priority()) out["priority"] = spec.priority();
  PutUnlessEmpty(out, "labels", Sorted(spec.labels()));
  PutUnlessEmpty(out, "resources", ResourcesJson(spec.resources()));
  PutUnlessEmpty(out, "restart", RestartJson(spec.restart()));
  if (spec.limits().has_max_time()) {
    out["limits"]["max_time"] = DurationText(spec.limits().max_time());
  }
  if (spec.limits().has_hang_after()) {
    const std::string text = DurationText(spec.limits().hang_after());
    out["limits"]["hang_after"] = text.starts_with("0") ? "never" : text;
  }
  if (!spec.storage().empty()) out["storage"] = spec.storage();
  PutUnlessEmpty(out, "checkpoints", CheckpointsJson(spec.checkpoints()));
  if (spec.has_command()) {
    for (const std::string& argument : spec.command().argv()) {
      out["command"].push_back(argument);
    }
  }
  for (const v1::FileRef& file : spec.files()) {
    out["files"].push_back(file.path());
  }
  PutUnlessEmpty(out, "env", Sorted(spec.env()));
  if (!spec.experiment_json().empty()) {
    Json experiment = Json::parse(spec.experiment_json(), nullptr, false);
    out["experiment"] = catalogue != nullptr && experiment.is_object()
                            ? catalogue::Resolve(*catalogue, experiment)
                            : std::move(experiment);
  }
  return out;
}

}  // namespace epochd::client
