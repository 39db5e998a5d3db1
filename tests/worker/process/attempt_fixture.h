// SPDX-License-Identifier: Apache-2.0
//
// An attempt's folder for tests with real processes, and waiting with a
// deadline.
#pragma once

#include <dirent.h>
#include <poll.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "tests/worker/link/temp_dir.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/attempt_spec.h"

namespace epochd {

// True once `holds` does; false when it does not within `seconds`.
inline bool WaitFor(const std::function<bool()>& holds, int seconds = 60) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    poll(nullptr, 0, 2);
  }
  return true;
}

inline bool ProcessExists(int64_t pid) {
  return pid > 0 && kill(static_cast<pid_t>(pid), 0) == 0;
}

inline int NumOpenFiles() {
  int count = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (readdir(dir) != nullptr) ++count;
  closedir(dir);
  return count;
}

// Waits until a shell has written a whole line with a number, such as a pid.
inline int64_t WaitForNumber(const std::string& path) {
  std::string text;
  WaitFor([&] {
    text = Slurp(path);
    return !text.empty() && text.back() == '\n';
  });
  return text.empty() ? 0 : std::stoll(text);
}

// A folder with attempt.json, as an agent makes it.
class AttemptFolder {
 public:
  AttemptFolder(const std::string& dir, link::AttemptSpec spec) : dir_(dir) {
    std::filesystem::create_directories(link::FilesDir(dir));
    for (const link::RankSpec& rank : spec.ranks) {
      std::filesystem::create_directories(link::RankDir(dir, rank.rank));
    }
    link::ReplaceFile(link::SpecPath(dir), link::ToJson(spec), false);
  }

  const std::string& dir() const { return dir_; }
  std::string rank_dir(int rank = 0) const { return link::RankDir(dir_, rank); }
  // A file that a rank's script named without a folder.
  std::string file(const std::string& name) const {
    return link::FilesDir(dir_) + "/" + name;
  }
  std::string log(int rank = 0) const {
    return Slurp(link::LogPath(rank_dir(rank)));
  }
  // Waits for exit.json.
  link::ExitRecord WaitForExit(int rank = 0) const {
    WaitFor([&] { return link::ReadExit(rank_dir(rank)).has_value(); });
    return link::ReadExit(rank_dir(rank)).value_or(link::ExitRecord{});
  }

 private:
  const std::string dir_;
};

// One rank that runs `script` in a shell, as a command job.
inline link::AttemptSpec ScriptCommand(const std::string& script) {
  link::AttemptSpec spec;
  spec.job = "job";
  spec.storage = "/tmp";
  spec.ranks.emplace_back();
  spec.stop_grace = 60;
  spec.command = {"/bin/sh", "-c", script};
  return spec;
}

// The same as an experiment for the fake trainer.
inline link::AttemptSpec ScriptExperiment(const std::string& script) {
  link::AttemptSpec spec = ScriptCommand(script);
  spec.command.clear();
  spec.experiment_json = script;
  return spec;
}

}  // namespace epochd
