// SPDX-License-Identifier: Apache-2.0
//
// epochd-trainer: one rank of an attempt, or the warm parent that forks ranks.
#include <exception>
#include <iostream>
#include <string>

#include "catalogue/catalogue.h"
#include "program/flags.h"
#include "worker/process/keeper/warm_parent.h"
#include "worker/trainer/components.h"
#include "worker/trainer/plugins.h"
#include "worker/trainer/rank.h"
#include "worker/trainer/warm_up.h"

int main(int argc, char** argv) {
  epochd::keeper::RankRequest request;
  bool catalogue = false;
  std::string plugins;
  bool allow_torchscript = false;
  int warm_fd = -1;
  epochd::program::Flags flags(
      "epochd-trainer", "Trains one rank of an attempt; started by a worker.",
      {"epochd-trainer --catalogue",
       "epochd-trainer --attempt-dir /tmp/attempt --rank 0"});
  flags.AddSwitch("catalogue", catalogue,
                  "print the components that a job file may name, as JSON");
  flags.Add("attempt-dir", request.attempt_dir,
            "folder that holds attempt.json");
  flags.Add("rank", request.rank, "which rank of the attempt to be");
  flags.Add("listen-fd", request.listen_fd,
            "bound, listening socket of the rendezvous, for rank 0");
  flags.Add("warm", warm_fd,
            "serve fork requests from a worker on this socket");
  flags.Add("plugins", plugins,
            "libraries with further components, separated by ':'");
  flags.AddSwitch("allow-torchscript", allow_torchscript,
                  "run models that are TorchScript archives, which hold code");
  if (const auto code = flags.Parse(argc, argv)) return *code;
  if (allow_torchscript) epochd::trainer::AllowTorchScript();
  try {
    epochd::trainer::OpenPlugins(plugins);
  } catch (const std::exception& error) {
    std::cerr << "epochd-trainer: " << error.what() << '\n';
    return epochd::program::kExitUsage;
  }

  if (catalogue) {
    std::cout << epochd::catalogue::ToJson(
                     epochd::trainer::Components().catalogue())
                     .dump(2)
              << '\n';
    return std::cout.flush() ? 0 : 1;
  }
  if (warm_fd >= 0) {
    epochd::trainer::WarmUp();
    return epochd::keeper::RunWarmParent(warm_fd, &epochd::trainer::RunRank);
  }
  if (request.attempt_dir.empty()) {
    std::cerr << "epochd-trainer: one of --attempt-dir, --warm and "
                 "--catalogue is needed\n";
    return epochd::program::kExitUsage;
  }
  return epochd::trainer::RunRank(request);
}
