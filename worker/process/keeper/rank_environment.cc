// SPDX-License-Identifier: Apache-2.0
#include "worker/process/keeper/rank_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "worker/link/attempt_folder.h"

namespace epochd::keeper {
namespace {

// Whose code a trainer runs is the operator's choice, not the job's.
constexpr std::array<std::string_view, 2> kOperators = {
    "EPOCHD_PLUGINS", "EPOCHD_ALLOW_TORCHSCRIPT"};
// A file that could name the same.
constexpr std::string_view kConfig = "EPOCHD_CONFIG";
constexpr std::array<std::string_view, 15> kNames = {
    "PATH",         "HOME",         "USER",          "LOGNAME",
    "SHELL",        "LANG",         "LANGUAGE",      "TZ",
    "TMPDIR",       "SSL_CERT_DIR", "SSL_CERT_FILE", "LD_LIBRARY_PATH",
    "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"};
constexpr std::array<std::string_view, 6> kPrefixes = {
    "LC_", "NCCL_", "GLOO_", "NVIDIA_", "CUDA_", "TORCH_"};

bool IsOperators(std::string_view name) {
  return std::find(kOperators.begin(), kOperators.end(), name) !=
         kOperators.end();
}

// Whether the job may set it. Its own command may well need LD_LIBRARY_PATH.
bool IsJobs(const link::AttemptSpec& spec, std::string_view name) {
  return !IsOperators(name) && name != kConfig &&
         (!spec.command.empty() || !name.starts_with("LD_"));
}

bool MayPass(std::string_view name) {
  return IsOperators(name) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) {
                       return name.substr(0, prefix.size()) == prefix;
                     });
}

std::string Join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) {
    if (!joined.empty()) joined += ',';
    joined += part;
  }
  return joined;
}

}  // namespace

std::vector<std::string> CleanEnvironment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (MayPass(text.substr(0, text.find('=')))) entries.emplace_back(text);
  }
  return entries;
}

std::vector<std::string> RankEnvironment(const link::AttemptSpec& spec,
                                         const std::string& attempt_dir,
                                         const link::RankSpec& rank) {
  std::map<std::string, std::string> values;
  for (const std::string& entry : CleanEnvironment()) {
    const size_t equals = entry.find('=');
    values[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  values["OMP_NUM_THREADS"] = std::to_string(spec.cpus);
  for (const auto& [name, value] : spec.env) {
    if (IsJobs(spec, name)) values[name] = value;
  }
  values["RANK"] = std::to_string(rank.rank);
  values["LOCAL_RANK"] = std::to_string(rank.local_rank);
  values["WORLD_SIZE"] = std::to_string(spec.world_size);
  values["LOCAL_WORLD_SIZE"] = std::to_string(spec.local_world_size);
  const size_t colon = spec.rendezvous.rfind(':');
  if (colon != std::string::npos) {
    values["MASTER_ADDR"] = spec.rendezvous.substr(0, colon);
    values["MASTER_PORT"] = spec.rendezvous.substr(colon + 1);
  }
  values["CUDA_VISIBLE_DEVICES"] =
      spec.device == "gpu" ? Join(rank.devices) : "";
  values["EPOCHD_JOB_ID"] = spec.job;
  values["EPOCHD_JOB_NAME"] = spec.job_name;
  values["EPOCHD_ATTEMPT"] = std::to_string(spec.attempt);
  values["EPOCHD_EVENTS"] =
      link::EventsPath(link::RankDir(attempt_dir, rank.rank));
  values["EPOCHD_OUTPUT_DIR"] = spec.storage + "/" + spec.job + "/attempt-" +
                                std::to_string(spec.attempt);
  if (!spec.resume.empty()) values["EPOCHD_RESUME_FROM"] = spec.resume.front();
  std::vector<std::string> entries;
  entries.reserve(values.size());
  for (const auto& [name, value] : values)
    entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> Pointers(std::vector<std::string>& entries) {
  std::vector<char*> pointers;
  pointers.reserve(entries.size() + 1);
  for (std::string& entry : entries) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace epochd::keeper
