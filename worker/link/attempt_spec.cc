// SPDX-License-Identifier: Apache-2.0
#include "worker/link/attempt_spec.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace epochd::link {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void Refuse(const std::string& key, const std::string& problem) {
  throw std::invalid_argument("attempt.json: " + key + ": " + problem);
}

// Reads `key` into `out` when it is there.
template <typename T>
void Read(const Json& json, const std::string& key, T& out) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return;
  try {
    it->get_to(out);
  } catch (const Json::exception&) {
    Refuse(key, "has the wrong type: '" + it->dump().substr(0, 100) + "'");
  }
}

template <typename T>
void ReadOptional(const Json& json, const std::string& key,
                  std::optional<T>& out) {
  if (json.contains(key) && !json.at(key).is_null()) {
    T value{};
    Read(json, key, value);
    out = value;
  }
}

void RequireObject(const Json& json, const std::string& key) {
  if (!json.is_object()) Refuse(key, "is not an object");
}

Json RanksToJson(const std::vector<RankSpec>& ranks) {
  Json list = Json::array();
  for (const RankSpec& rank : ranks) {
    list.push_back({{"rank", rank.rank},
                    {"local_rank", rank.local_rank},
                    {"devices", rank.devices}});
  }
  return list;
}

Json CheckpointsToJson(const CheckpointSpec& checkpoints) {
  Json every = Json::object();
  if (checkpoints.every.epochs) every["epochs"] = *checkpoints.every.epochs;
  if (checkpoints.every.steps) every["steps"] = *checkpoints.every.steps;
  if (checkpoints.every.seconds) every["seconds"] = *checkpoints.every.seconds;
  return {{"every", every},
          {"keep_last", checkpoints.keep_last},
          {"keep_best", checkpoints.keep_best}};
}

void ReadRanks(const Json& list, std::vector<RankSpec>& ranks) {
  if (!list.is_array()) Refuse("ranks", "is not a list");
  for (const Json& entry : list) {
    RequireObject(entry, "ranks");
    RankSpec rank;
    Read(entry, "rank", rank.rank);
    Read(entry, "local_rank", rank.local_rank);
    Read(entry, "devices", rank.devices);
    ranks.push_back(std::move(rank));
  }
}

void ReadCheckpoints(const Json& json, CheckpointSpec& checkpoints) {
  RequireObject(json, "checkpoints");
  Read(json, "keep_last", checkpoints.keep_last);
  Read(json, "keep_best", checkpoints.keep_best);
  if (!json.contains("every")) return;
  const Json& every = json.at("every");
  RequireObject(every, "checkpoints.every");
  ReadOptional(every, "epochs", checkpoints.every.epochs);
  ReadOptional(every, "steps", checkpoints.every.steps);
  ReadOptional(every, "seconds", checkpoints.every.seconds);
}

void Check(const AttemptSpec& spec) {
  if (spec.job.empty()) Refuse("job", "is missing");
  if (spec.attempt < 1) Refuse("attempt", "is not 1 or more");
  if (spec.world_size < 1) Refuse("world_size", "is not 1 or more");
  if (spec.cpus < 1) Refuse("cpus", "is not 1 or more");
  if (spec.device != "cpu" && spec.device != "gpu") {
    Refuse("device", "is '" + spec.device + "', not cpu or gpu");
  }
  if (spec.experiment_json.empty() == spec.command.empty()) {
    Refuse("experiment, command", "exactly one of them must be there");
  }
  for (const RankSpec& rank : spec.ranks) {
    if (rank.rank < 0 || rank.rank >= spec.world_size) {
      Refuse("ranks", "rank '" + std::to_string(rank.rank) +
                          "' is not below world_size " +
                          std::to_string(spec.world_size));
    }
  }
}

}  // namespace

std::string ToJson(const AttemptSpec& spec) {
  const Json json = {
      {"job", spec.job},
      {"job_name", spec.job_name},
      {"attempt", spec.attempt},
      {"world_size", spec.world_size},
      {"local_world_size", spec.local_world_size},
      {"ranks", RanksToJson(spec.ranks)},
      {"device", spec.device},
      {"cpus", spec.cpus},
      {"pin_cpus", spec.pin_cpus},
      {"memory_bytes", spec.memory_bytes},
      {"rendezvous", spec.rendezvous},
      {"storage", spec.storage},
      {"resume", spec.resume},
      {"checkpoints", CheckpointsToJson(spec.checkpoints)},
      {"self_fence_after", spec.self_fence_after},
      {"lease_end_ns", spec.lease_end_ns},
      {"hang_after", spec.hang_after},
      {"stop_grace", spec.stop_grace},
      {"experiment", spec.experiment_json},
      {"command", spec.command},
      {"env", spec.env},
  };
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

AttemptSpec FromJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw std::invalid_argument("attempt.json: is not a JSON object");
  }
  AttemptSpec spec;
  Read(json, "job", spec.job);
  Read(json, "job_name", spec.job_name);
  Read(json, "attempt", spec.attempt);
  Read(json, "world_size", spec.world_size);
  Read(json, "local_world_size", spec.local_world_size);
  if (json.contains("ranks")) ReadRanks(json.at("ranks"), spec.ranks);
  Read(json, "device", spec.device);
  Read(json, "cpus", spec.cpus);
  Read(json, "pin_cpus", spec.pin_cpus);
  Read(json, "memory_bytes", spec.memory_bytes);
  Read(json, "rendezvous", spec.rendezvous);
  Read(json, "storage", spec.storage);
  Read(json, "resume", spec.resume);
  if (json.contains("checkpoints")) {
    ReadCheckpoints(json.at("checkpoints"), spec.checkpoints);
  }
  Read(json, "self_fence_after", spec.self_fence_after);
  Read(json, "lease_end_ns", spec.lease_end_ns);
  Read(json, "hang_after", spec.hang_after);
  Read(json, "stop_grace", spec.stop_grace);
  Read(json, "experiment", spec.experiment_json);
  Read(json, "command", spec.command);
  Read(json, "env", spec.env);
  Check(spec);
  return spec;
}

}  // namespace epochd::link
