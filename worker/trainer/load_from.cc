// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/load_from.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"

namespace epochd::trainer {
namespace {

namespace fs = std::filesystem;
using engine::CheckpointInfo;
using Json = nlohmann::ordered_json;

[[noreturn]] void Refuse(const std::string& field, const std::string& named,
                         const std::string& problem) {
  throw engine::Error(
      engine::ErrorKind::kBadSpec,
      field + ": \"" + named + "\": " + problem +
          "; job/<id>/best, job/<id>/last, a checkpoint's folder, a folder of "
          "checkpoints" +
          (field == "experiment.load_from" ? " or a safetensors file" : "") +
          " is accepted");
}

// All checkpoints of a job, the one that came furthest last.
std::vector<CheckpointInfo> CheckpointsOf(const std::string& job_dir) {
  std::vector<CheckpointInfo> found;
  std::error_code error;
  for (const auto& attempt : fs::directory_iterator(job_dir, error)) {
    for (CheckpointInfo& each :
         engine::ListCheckpoints(attempt.path() / "checkpoints")) {
      found.push_back(std::move(each));
    }
  }
  std::sort(found.begin(), found.end(),
            [](const CheckpointInfo& a, const CheckpointInfo& b) {
              return std::tie(a.step, a.path) < std::tie(b.step, b.path);
            });
  return found;
}

// The best by what the one that came furthest knows; that one where nothing
// was measured; "": it is not there, such as one of another job that this one
// went on from.
std::string BestOf(const std::vector<CheckpointInfo>& found) {
  const Json& best = found.back().best;
  for (const CheckpointInfo& each : found) {
    auto score = each.scores.find(best.value("metric", ""));
    if (score != each.scores.end() && *score == best.value("value", Json())) {
      return each.path;
    }
  }
  return best.value("epoch", int64_t{-1}) < 0 ? found.back().path : "";
}

std::string FindCheckpoint(const std::string& field, const std::string& named,
                           const std::string& storage) {
  std::error_code error;
  if (fs::is_directory(named, error)) {
    if (fs::exists(fs::path(named) / "manifest.json", error)) return named;
    std::vector<CheckpointInfo> found = engine::ListCheckpoints(named);
    if (found.empty()) {
      found = engine::ListCheckpoints(named + "/checkpoints");
    }
    if (found.empty()) Refuse(field, named, "holds no checkpoint");
    return found.back().path;
  }
  // As a job is called elsewhere: jobs/<id>.
  const std::string prefix = named.starts_with("jobs/") ? "jobs/" : "job/";
  if (!named.starts_with(prefix)) Refuse(field, named, "does not exist");
  const size_t slash = named.rfind('/');
  const std::string which = named.substr(slash + 1);
  if (slash <= prefix.size() || (which != "best" && which != "last")) {
    Refuse(field, named, "cannot be understood");
  }
  const std::string job = named.substr(prefix.size(), slash - prefix.size());
  if (job.find('/') != std::string::npos || job == "..") {
    Refuse(field, named, "cannot be understood");
  }
  const std::vector<CheckpointInfo> found = CheckpointsOf(storage + "/" + job);
  if (found.empty()) Refuse(field, named, "the job has no checkpoint here");
  if (which == "last") return found.back().path;
  std::string best = BestOf(found);
  if (best.empty()) {
    const Json& known = found.back().best;
    Refuse(field, named,
           "its best so far, " + known.value("metric", "") + " " +
               known.value("value", Json()).dump() + " in epoch " +
               std::to_string(known.value("epoch", int64_t{0}) + 1) +
               ", is not among its checkpoints (that of the job it went on "
               "from, or not kept)");
  }
  return best;
}

}  // namespace

engine::Snapshot ReadNamedCheckpoint(const std::string& field,
                                     const std::string& named,
                                     const std::string& storage) {
  const std::string path = FindCheckpoint(field, named, storage);
  try {
    return engine::ReadCheckpoint(path);
  } catch (const engine::Error& error) {
    // What a person named stays broken, however often it is read.
    Refuse(field, named, error.what());
  }
}

std::vector<engine::NamedTensor> LoadWeights(const std::string& load_from,
                                             const std::string& storage) {
  constexpr char kField[] = "experiment.load_from";
  std::error_code error;
  if (!fs::is_regular_file(load_from, error)) {
    return ReadNamedCheckpoint(kField, load_from, storage).model;
  }
  try {
    return engine::ReadSafetensors(load_from);
  } catch (const engine::Error& broken) {
    Refuse(kField, load_from, broken.what());
  }
}

}  // namespace epochd::trainer
