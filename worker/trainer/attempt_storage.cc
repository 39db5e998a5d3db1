// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/attempt_storage.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <system_error>

#include "worker/trainer/load_from.h"

namespace epochd::trainer {
namespace {

std::string AttemptFolder(const link::AttemptSpec& spec, int64_t attempt) {
  return spec.storage + "/" + spec.job + "/attempt-" + std::to_string(attempt);
}

}  // namespace

std::string OutputFolder(const link::AttemptSpec& spec,
                         const std::string& attempt_dir) {
  return spec.storage.empty() ? attempt_dir + "/output"
                              : AttemptFolder(spec, spec.attempt);
}

void MakeOutputFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && access(folder.c_str(), W_OK) == 0) return;
  throw NoStorage(
      "storage: \"" + folder + "\" cannot be written: " +
      (error ? error : std::error_code(errno, std::generic_category()))
          .message());
}

std::vector<std::string> EarlierCheckpoints(const link::AttemptSpec& spec) {
  std::vector<std::string> earlier;
  for (int64_t attempt = 1; attempt < spec.attempt && !spec.storage.empty();
       ++attempt) {
    for (const engine::CheckpointInfo& each : engine::ListCheckpoints(
             AttemptFolder(spec, attempt) + "/checkpoints")) {
      earlier.push_back(each.path);
    }
  }
  // Recorded ones that cannot be read any more; what lies elsewhere is not this
  // job's.
  const std::string own = spec.storage + "/" + spec.job + "/attempt-";
  for (const std::string& path : spec.resume) {
    if (path.starts_with(own) && std::filesystem::exists(path) &&
        std::find(earlier.begin(), earlier.end(), path) == earlier.end()) {
      earlier.insert(earlier.begin(), path);
    }
  }
  return earlier;
}

void RemoveUnfinished(const link::AttemptSpec& spec) {
  if (spec.storage.empty()) return;
  for (int64_t earlier = 1; earlier < spec.attempt; ++earlier) {
    engine::RemoveUnfinished(AttemptFolder(spec, earlier) + "/checkpoints");
  }
}

std::optional<engine::Snapshot> ChooseCheckpoint(const link::AttemptSpec& spec,
                                                 const std::string& mode,
                                                 LineSink& sink) {
  if (mode == "never") return std::nullopt;
  for (const std::string& path : spec.resume) {
    try {
      return engine::ReadCheckpoint(path);
    } catch (const std::exception& error) {
      sink.Notice("warning",
                  std::string("a checkpoint is skipped: ") + error.what());
    }
  }
  // The job's own come before the one that it began with.
  if (!mode.empty() && mode != "auto") {
    return ReadNamedCheckpoint("experiment.resume", mode, spec.storage);
  }
  if (!spec.resume.empty()) {
    sink.Notice("warning", "no checkpoint can be used; training starts anew");
  } else if (mode == "auto") {
    sink.Notice("warning",
                "experiment.resume: auto: there is no checkpoint of this job "
                "yet; training starts at epoch 0");
  }
  return std::nullopt;
}

}  // namespace epochd::trainer
