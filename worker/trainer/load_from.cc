// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/load_from.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"

namespace epochd::trainer {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Found {
  std::string path;
  Json state;
};

[[noreturn]] void Refuse(const std::string& load_from,
                         const std::string& problem) {
  throw engine::Error(
      engine::ErrorKind::kBadSpec,
      "experiment.load_from: \"" + load_from + "\": " + problem +
          "; job/<id>/best, job/<id>/last, a checkpoint's folder or a "
          "safetensors file is accepted");
}

// All checkpoints of a job, the one that came furthest last.
std::vector<Found> Checkpoints(const std::string& job_dir) {
  std::vector<Found> found;
  std::error_code error;
  for (const auto& attempt : fs::directory_iterator(job_dir, error)) {
    std::error_code ignored;
    for (const auto& each :
         fs::directory_iterator(attempt.path() / "checkpoints", ignored)) {
      std::ifstream file(each.path() / "state.json");
      Json state = Json::parse(file, nullptr, /*allow_exceptions=*/false);
      if (state.is_object()) found.push_back({each.path(), std::move(state)});
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tuple(a.state.value("step", int64_t{0}), a.path) <
           std::tuple(b.state.value("step", int64_t{0}), b.path);
  });
  return found;
}

std::string FindCheckpoint(const std::string& load_from,
                           const std::string& storage) {
  const size_t slash = load_from.rfind('/');
  const std::string which = load_from.substr(slash + 1);
  if (slash <= 4 || (which != "best" && which != "last")) {
    Refuse(load_from, "cannot be understood");
  }
  const std::string job = load_from.substr(4, slash - 4);
  if (job.find('/') != std::string::npos || job == "..") {
    Refuse(load_from, "cannot be understood");
  }
  const std::vector<Found> found = Checkpoints(storage + "/" + job);
  if (found.empty()) Refuse(load_from, "the job has no checkpoint here");
  if (which == "best") {
    const Json best = found.back().state.value("best", Json::object());
    for (const Found& each : found) {
      const Json scores = each.state.value("scores", Json::object());
      auto score = scores.find(best.value("metric", ""));
      if (score != scores.end() && *score == best.value("value", Json())) {
        return each.path;
      }
    }
  }
  return found.back().path;
}

}  // namespace

std::vector<engine::NamedTensor> LoadWeights(const std::string& load_from,
                                             const std::string& storage) {
  std::error_code error;
  if (fs::is_directory(load_from, error)) {
    return engine::ReadCheckpoint(load_from).model;
  }
  if (fs::is_regular_file(load_from, error)) {
    return engine::ReadSafetensors(load_from);
  }
  if (!load_from.starts_with("job/")) Refuse(load_from, "does not exist");
  return engine::ReadCheckpoint(FindCheckpoint(load_from, storage)).model;
}

}  // namespace epochd::trainer
