// SPDX-License-Identifier: Apache-2.0
//
// An attempt of a test: its folder, its spec, and its ranks as processes of
// epochd-trainer.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/worker/engine/digits_run.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/attempt_spec.h"

namespace epochd::trainer {

using engine::Json;

class Attempt {
 public:
  Attempt(const std::string& root, int number, const Json& experiment) {
    dir_ = root + "/attempt-dir-" + std::to_string(number);
    spec.job = "j1";
    spec.attempt = number;
    spec.storage = root + "/storage";
    spec.checkpoints.every.epochs = 1;
    spec.experiment_json = experiment.dump();
    spec.ranks = {{.rank = 0, .local_rank = 0, .devices = {"cpu:0"}}};
  }
  ~Attempt() {
    for (pid_t pid : pids_) {
      if (pid <= 0) continue;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  link::AttemptSpec spec;

  // Writes attempt.json and starts the ranks, or the first few of them.
  void Start(int num_started = INT_MAX) {
    std::filesystem::create_directories(dir_);
    const int listen_fd = socket(AF_INET, SOCK_STREAM, 0);
    if (spec.world_size > 1) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof(address);
      ASSERT_EQ(bind(listen_fd, reinterpret_cast<sockaddr*>(&address), size),
                0);
      ASSERT_EQ(listen(listen_fd, 16), 0);
      getsockname(listen_fd, reinterpret_cast<sockaddr*>(&address), &size);
      spec.rendezvous = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    std::ofstream(link::SpecPath(dir_)) << link::ToJson(spec);
    for (int rank = 0; rank < std::min(spec.world_size, num_started); ++rank) {
      std::filesystem::create_directories(link::RankDir(dir_, rank));
      pids_.push_back(Spawn(rank, listen_fd));
    }
    close(listen_fd);
  }

  pid_t pid(int rank) const { return pids_[static_cast<size_t>(rank)]; }

  // The wait status.
  int Wait(int rank) {
    int status = 0;
    waitpid(pid(rank), &status, 0);
    pids_[static_cast<size_t>(rank)] = -1;
    return status;
  }
  int ExitCode(int rank) {
    const int status = Wait(rank);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::vector<Json> Lines(int rank = 0) const {
    std::vector<Json> lines;
    std::ifstream file(link::EventsPath(link::RankDir(dir_, rank)));
    for (std::string line; std::getline(file, line);) {
      Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (json.is_object()) lines.push_back(std::move(json));
    }
    return lines;
  }
  std::vector<Json> Lines(const std::string& type, int rank = 0) const {
    std::vector<Json> found;
    for (Json& line : Lines(rank)) {
      if (line.value("type", "") == type) found.push_back(std::move(line));
    }
    return found;
  }
  // Waits until there are `count` lines of a type, or the rank ended.
  bool WaitForLines(const std::string& type, size_t count) const {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (Lines(type).size() < count) {
      siginfo_t info{};
      if (std::chrono::steady_clock::now() > deadline ||
          (waitid(P_PID, static_cast<id_t>(pid(0)), &info,
                  WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0)) {
        return Lines(type).size() >= count;
      }
      poll(nullptr, 0, 2);
    }
    return true;
  }
  // Paths of what was saved, newest first, for the next attempt's `resume`.
  std::vector<std::string> Checkpoints() const {
    std::vector<std::string> paths;
    for (const Json& line : Lines("checkpoint_saved")) {
      const std::string path = line["path"];
      if (std::filesystem::exists(path)) paths.insert(paths.begin(), path);
    }
    return paths;
  }
  const std::string& dir() const { return dir_; }

 private:
  pid_t Spawn(int rank, int listen_fd) {
    const char* bin = getenv("EPOCHD_TEST_BIN_DIR");
    const std::string program =
        std::string(bin != nullptr ? bin : "bin") + "/epochd-trainer";
    const std::string rank_text = std::to_string(rank);
    const std::string fd_text =
        std::to_string(rank == 0 && spec.world_size > 1 ? listen_fd : -1);
    const std::string log = link::LogPath(link::RankDir(dir_, rank));
    const pid_t child = fork();
    if (child == 0) {
      const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
      dup2(log_fd, STDOUT_FILENO);
      dup2(log_fd, STDERR_FILENO);
      execl(program.c_str(), program.c_str(), "--attempt-dir", dir_.c_str(),
            "--rank", rank_text.c_str(), "--listen-fd", fd_text.c_str(),
            nullptr);
      _exit(127);
    }
    return child;
  }

  std::string dir_;
  std::vector<pid_t> pids_;
};

}  // namespace epochd::trainer
