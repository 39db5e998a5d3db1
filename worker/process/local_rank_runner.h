// SPDX-License-Identifier: Apache-2.0
//
// Ranks as processes of this machine. Everything it knows of a running rank it
// reads from the rank's folder, so that it can take over what an earlier agent
// started. One thread; the owner waits on fd().
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "worker/process/rank_runner.h"
#include "worker/process/warm_pool.h"

namespace epochd::process {

class LocalRankRunner final : public RankRunner {
 public:
  struct Options {
    // epochd-trainer; ranks of command jobs do not need it.
    std::string trainer;
    // Program whose `keeper` command starts a keeper (keeper_command.h).
    std::string keeper;
    // Where warm parents print.
    std::string log_path;
    bool warm = true;
  };

  explicit LocalRankRunner(Options options);
  ~LocalRankRunner() override;

  absl::Status Start(const keeper::RankRequest& request,
                     bool is_command) override;
  RankStatus Observe(const std::string& rank_dir) override;
  bool GiveUp(const std::string& rank_dir) override;
  void Stop(const std::string& rank_dir) override;
  void Kill(const std::string& rank_dir) override;
  void Forget(const std::string& rank_dir) override;
  void Send(const std::string& rank_dir, const link::Command& command) override;

  // Readable when something happened: a keeper wrote a record or died, the warm
  // parent spoke. Call Poll then, and once a second. True: a rank may have
  // changed; Observe tells.
  int fd() const { return epoll_fd_; }
  bool Poll(absl::Time now);

 private:
  struct Watched {
    int inotify_watch = -1;
    int pidfd = -1;
    link::KeeperRecord keeper;
  };

  absl::Status StartCold(const keeper::RankRequest& request, bool is_command);
  // Start has failed though it said OK; the rank is then kEnded.
  static void Failed(const std::string& rank_dir, const std::string& problem);
  // Whether it changed a rank.
  bool CollectStarters();
  Watched& WatchFolder(const std::string& rank_dir);
  bool ReadFolderEvents();
  static void ClosePidfd(Watched& watched);
  void SignalKeeper(const std::string& rank_dir, int signal);

  const Options options_;
  WarmPool warm_;
  int epoll_fd_ = -1;
  int inotify_fd_ = -1;
  int warm_fd_in_epoll_ = -1;
  std::map<std::string, Watched> watched_;
  // Cold starters, which end as soon as their keeper is on its way, and their
  // rank's folder.
  std::map<pid_t, std::string> starters_;
  // Collected where they are our children: when we are process 1.
  std::vector<pid_t> ended_keepers_;
};

}  // namespace epochd::process
