// SPDX-License-Identifier: Apache-2.0
//
// epochd-worker: reads flags, builds the agent, runs it. Called as `keeper` it
// is the small process above a rank instead (keeper_command.h).
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "net/address.h"
#include "net/channel.h"
#include "net/file_limit.h"
#include "net/token.h"
#include "program/flags.h"
#include "program/home.h"
#include "program/logging.h"
#include "program/signals.h"
#include "program/version.h"
#include "worker/agent/agent.h"
#include "worker/agent/grpc_transport.h"
#include "worker/agent/worker_options.h"
#include "worker/process/keeper/keeper_command.h"

namespace epochd::agent {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitSuperseded = 3;

// Makes the end of our parent a SIGTERM to us; false: it has just ended.
// Process 1 is a parent like any other: in containers it may be the client.
bool FollowParent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  return getppid() == parent;
}

int Serve(const WorkerOptions& options, program::StopSignal& stop) {
  absl::StatusOr<Agent::Options> agent_options = MakeAgentOptions(options);
  if (!agent_options.ok()) {
    spdlog::error("{}", std::string(agent_options.status().message()));
    return program::kExitUsage;
  }
  absl::StatusOr<net::ChannelOptions> channel = MakeChannelOptions(options);
  if (!channel.ok()) {
    spdlog::error("{}", std::string(channel.status().message()));
    return program::kExitUsage;
  }
  absl::StatusOr<std::unique_ptr<Transport>> transport =
      MakeGrpcTransport(*channel);
  if (!transport.ok()) {
    spdlog::error("{}", std::string(transport.status().message()));
    return program::kExitUsage;
  }
  Agent agent(*std::move(agent_options), **transport);
  const bool end_attempts = EndsAttemptsOnExit(options, getpid());
  std::thread waiter([&] {
    const program::Stop why = stop.Wait();
    if (why.signal != 0) {
      spdlog::info("{}: {}", why.reason,
                   end_attempts ? "ending all attempts"
                                : "leaving attempts to the next agent");
    }
    agent.Stop(end_attempts);
  });
  const absl::Status outcome = agent.Run();
  stop.Request("the agent has ended");
  waiter.join();
  if (outcome.ok()) return 0;
  spdlog::error("{}", std::string(outcome.message()));
  return outcome.code() == absl::StatusCode::kAborted ? kExitSuperseded
                                                      : kExitFailure;
}

int Main(int argc, char** argv) {
  WorkerOptions options;
  program::LoggingOptions logging{.program = "epochd-worker"};
  program::Flags flags(
      "epochd-worker",
      "Agent of epochd, one per machine: offers devices, starts and watches "
      "trainers.",
      {"epochd-worker --coordinator 127.0.0.1:7950",
       "epochd-worker --coordinator ml.example.org:7950 --token-file token "
       "--tls-ca ca.pem --labels zone=a"});
  AddFlags(flags, options);
  flags.AddLogging(logging);
  if (const auto code = flags.Parse(argc, argv)) return *code;
  if (const absl::Status set = program::SetUpLogging(logging); !set.ok()) {
    fprintf(stderr, "epochd-worker: %s\n", std::string(set.message()).c_str());
    return program::kExitUsage;
  }
  // A death signal that comes twice must not end us before the attempts.
  program::StopSignal stop(options.stop_with_parent ? program::Again::kIgnored
                                                    : program::Again::kEnds);
  if (options.stop_with_parent && !FollowParent()) {
    spdlog::error("--stop-with-parent: the parent has ended");
    return kExitFailure;
  }
  if (const auto limit = net::RaiseFileLimit(); !limit.ok()) {
    spdlog::warn("{}", std::string(limit.status().message()));
  }
  return Serve(options, stop);
}

}  // namespace
}  // namespace epochd::agent

int main(int argc, char** argv) {
  if (const auto code = epochd::keeper::RunKeeperCommand(argc, argv)) {
    return *code;
  }
  return epochd::agent::Main(argc, argv);
}
