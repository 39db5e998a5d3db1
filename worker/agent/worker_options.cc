// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/worker_options.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "catalogue/catalogue.h"
#include "net/address.h"
#include "net/token.h"
#include "program/home.h"
#include "program/version.h"
#include "worker/agent/devices.h"
#include "worker/agent/trainer_catalogue.h"
#include "worker/agent/work_folder.h"
#include "worker/process/keeper/process_tree.h"

namespace epochd::agent {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxName = 63;
constexpr int kMaxCpus = 4096;

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = "";
  return gethostname(name, sizeof name) == 0 ? name : "localhost";
}

std::string OwnPath() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

bool IsWorkerName(const std::string& name) {
  if (name.empty() || name.size() > kMaxName || name.front() == '-' ||
      name.back() == '-') {
    return false;
  }
  for (const char c : name) {
    if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '-') {
      return false;
    }
  }
  return true;
}

absl::StatusOr<std::map<std::string, std::string>> ParseLabels(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::string> labels;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--labels: '", text, "' is not key=value"));
    }
    if (!labels.emplace(text.substr(0, equals), text.substr(equals + 1))
             .second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--labels: '", text.substr(0, equals),
                       "' is given twice, each name once is accepted"));
    }
  }
  return labels;
}

// Ranks are reached where the coordinator is: on this machine alone, or by the
// name of the host.
absl::StatusOr<std::string> AdvertisedHost(const WorkerOptions& options) {
  if (!options.advertise_host.empty()) return options.advertise_host;
  const absl::StatusOr<net::Address> coordinator =
      net::ParseAddress("--coordinator", options.coordinator);
  if (!coordinator.ok()) return coordinator.status();
  return coordinator->IsLoopback() ? "127.0.0.1" : HostName();
}

void LookAtMachine(const WorkerOptions& options, WorkerInfo& worker) {
  worker.devices = CpuSlots(options.cpus > 0 ? options.cpus : UsableCpus());
  if (!options.no_gpus) {
    for (Device& gpu : Gpus()) worker.devices.push_back(std::move(gpu));
  }
  worker.memory_bytes = UsableMemory();
  worker.hostname = HostName();
  worker.boot_id = keeper::BootId();
}

// Ranks run in other folders. What is no file here is left to the loader, which
// looks for it.
std::string AbsolutePlugins(const std::string& paths) {
  std::vector<std::string> absolute = absl::StrSplit(paths, ':');
  for (std::string& path : absolute) {
    std::error_code error;
    if (fs::exists(path, error)) path = fs::absolute(path).string();
  }
  return absl::StrJoin(absolute, ":");
}

}  // namespace

void AddFlags(program::Flags& flags, WorkerOptions& options) {
  flags.Add("coordinator", options.coordinator,
            "address of the coordinator, host:port");
  flags.Add("token-file", options.token_file,
            "file with the coordinator's token; by default the one that the "
            "coordinator of this account wrote");
  flags.Add("name", options.name,
            "name of this worker, unique in the fleet; by default the host's");
  flags.Add("work-dir", options.work_dir,
            "folder for running attempts, kept over restarts, on a local disk; "
            "by default in EPOCHD_HOME");
  flags.Add("min-free-space", options.min_free_space,
            "space that has to be free for the work-dir, such as 512MiB; with "
            "less, or where it cannot be written, this worker is not ready: "
            "what runs goes on, nothing new is started; 0 is any");
  flags.Add("storage", options.storage,
            "folder for checkpoints and outputs of jobs that name none; by "
            "default in the work-dir; a folder that all workers see lets jobs "
            "go on elsewhere");
  flags.Add("cpus", options.cpus,
            "CPU slots to offer; 0 is all cores that may be used");
  flags.AddSwitch("no-gpus", options.no_gpus, "offer no GPU");
  flags.AddSwitch("pin-cpus", options.pin_cpus,
                  "bind each rank to the cores of its slots; for machines with "
                  "one worker and nothing else to do");
  flags.Add("labels", options.labels,
            "key=value pairs that jobs may ask for in resources.nodes.labels");
  flags.Add("advertise-host", options.advertise_host,
            "name or address at which other workers reach ranks here; by "
            "default 127.0.0.1 with a coordinator on this machine, else the "
            "host's name");
  flags.Add("trainer", options.trainer,
            "the trainer program; by default epochd-trainer beside this one");
  flags.Add("catalogue", options.catalogue,
            "file with the trainer's component catalogue; by default the "
            "trainer is asked once");
  flags.Add("plugins", options.plugins,
            "libraries whose components the trainer has beside its own, "
            "separated by ':' (docs/library.md)");
  flags.AddSwitch("allow-torchscript", options.allow_torchscript,
                  "run models that are TorchScript archives; they hold code of "
                  "whoever wrote them, which runs as the trainer does");
  flags.AddSwitch("cold-start", options.cold_start,
                  "keep no warm trainer; ranks then start about half a second "
                  "later");
  flags.AddSwitch("stop-with-parent", options.stop_with_parent,
                  "end all attempts and this program when its parent ends");
  flags.AddSwitch(
      "stop-attempts-on-exit", options.stop_attempts_on_exit,
      "on SIGTERM stop all attempts with a checkpoint, wait until all is "
      "handed in, then exit. The default in containers (as process 1), where "
      "nothing would outlive this program; elsewhere attempts run on and the "
      "next epochd-worker on the same work-dir takes them over");
  flags.AddSwitch("leave-attempts-on-exit", options.leave_attempts_on_exit,
                  "on SIGTERM exit at once and leave attempts running, also "
                  "as process 1");
  flags.Add("drain-timeout", options.drain_timeout,
            "longest time for stopping attempts and handing in what they said, "
            "such as 90s; at least the jobs' own grace");
  flags.Add("tls-ca", options.tls.ca,
            "PEM file with the roots that the coordinator's certificate leads "
            "to; turns TLS on");
  flags.Add("tls-cert", options.tls.cert, "PEM file with our certificate");
  flags.Add("tls-key", options.tls.key, "PEM file with its private key");
  flags.AddSwitch("tls", options.use_tls, "use TLS with the system's roots");
  flags.AddSwitch("insecure", options.insecure,
                  "send the token in plaintext to another machine");
}

std::string NameFromHost(const std::string& hostname) {
  std::string name;
  for (const char c : hostname.substr(0, hostname.find('.'))) {
    const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
    name +=
        absl::ascii_isalnum(static_cast<unsigned char>(lower)) ? lower : '-';
  }
  name = name.substr(0, kMaxName);
  while (!name.empty() && name.back() == '-') name.pop_back();
  name.erase(0, name.find_first_not_of('-'));
  return name.empty() ? "worker" : name;
}

absl::StatusOr<Agent::Options> MakeAgentOptions(const WorkerOptions& options) {
  Agent::Options agent;
  WorkerInfo& worker = agent.worker;
  worker.name = options.name.empty() ? NameFromHost(HostName()) : options.name;
  if (!IsWorkerName(worker.name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--name: '", absl::CHexEscape(worker.name),
        "' is not a worker name: 1 to 63 of a-z, 0-9 and '-', not '-' at an "
        "end"));
  }
  if (options.cpus < 0 || options.cpus > kMaxCpus) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cpus: '", options.cpus, "' is not 0 to ", kMaxCpus));
  }
  if (options.stop_attempts_on_exit && options.leave_attempts_on_exit) {
    return absl::InvalidArgumentError(
        "--leave-attempts-on-exit: contradicts --stop-attempts-on-exit");
  }
  if (!absl::ParseDuration(options.drain_timeout, &agent.drain_timeout) ||
      agent.drain_timeout < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--drain-timeout: '", options.drain_timeout,
                     "' is not a duration such as 90s or 2m"));
  }
  const std::optional<int64_t> min_free_space =
      options.min_free_space == "0"
          ? 0
          : catalogue::ParseBytes(options.min_free_space);
  if (!min_free_space) {
    return absl::InvalidArgumentError(
        absl::StrCat("--min-free-space: '", options.min_free_space,
                     "' is not a size such as 512MiB or 2GiB, nor 0"));
  }
  auto labels = ParseLabels(options.labels);
  if (!labels.ok()) return labels.status();
  worker.labels = *std::move(labels);
  auto host = AdvertisedHost(options);
  if (!host.ok()) return host.status();

  LookAtMachine(options, worker);
  worker.incarnation = RandomId();
  worker.version = program::Version();

  AgentCore::Options& core = agent.core;
  core.work_dir =
      fs::absolute(options.work_dir.empty() ? program::DefaultWorkerDir()
                                            : options.work_dir)
          .string();
  core.storage = options.storage.empty()
                     ? core.work_dir + "/storage"
                     : fs::absolute(options.storage).string();
  core.advertise_host = *host;
  core.hostname = worker.hostname;
  core.pin_cpus = options.pin_cpus;
  core.find_obstacle = [dir = core.work_dir, min_free = *min_free_space] {
    return FolderProblem(dir, min_free);
  };
  std::error_code error;
  fs::create_directories(core.work_dir, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("--work-dir: '", core.work_dir, "': ", error.message()));
  }

  agent.runner.keeper = OwnPath();
  agent.runner.trainer =
      options.trainer.empty()
          ? (fs::path(agent.runner.keeper).parent_path() / "epochd-trainer")
                .string()
          : fs::absolute(options.trainer).string();
  agent.runner.log_path = core.work_dir + "/warm.log";
  agent.runner.warm = !options.cold_start;

  // Trainers read the same name, and their environment is made of ours.
  setenv("EPOCHD_PLUGINS", AbsolutePlugins(options.plugins).c_str(),
         /*overwrite=*/1);
  setenv("EPOCHD_ALLOW_TORCHSCRIPT",
         options.allow_torchscript ? "true" : "false", /*overwrite=*/1);
  // With plugins the trainer's file alone does not tell what it has.
  absl::StatusOr<TrainerCatalogue> catalogue =
      options.catalogue.empty()
          ? LoadTrainerCatalogue(agent.runner.trainer, options.plugins.empty()
                                                           ? core.work_dir
                                                           : std::string())
          : ReadCatalogueFile(options.catalogue);
  if (catalogue.ok()) {
    worker.catalogue_json = std::move(catalogue->json);
    worker.catalogue_sha256 = std::move(catalogue->sha256);
  } else if (!options.catalogue.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--catalogue: ", catalogue.status().message()));
  } else if (!options.plugins.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--plugins: '", options.plugins, "': ", catalogue.status().message()));
  } else {
    spdlog::warn("only command jobs can run here: {}",
                 std::string(catalogue.status().message()));
    agent.runner.warm = false;
  }
  return agent;
}

absl::StatusOr<net::ChannelOptions> MakeChannelOptions(
    const WorkerOptions& options) {
  net::ChannelOptions channel;
  channel.server = options.coordinator;
  channel.tls = options.tls;
  channel.use_tls = options.use_tls;
  channel.insecure = options.insecure;
  absl::StatusOr<net::Token> token =
      net::LoadToken(options.token_file.empty() ? program::DefaultTokenFile()
                                                : options.token_file);
  if (!token.ok()) {
    return absl::Status(
        token.status().code(),
        absl::StrCat("--token-file: ", token.status().message()));
  }
  channel.token = *std::move(token);
  return channel;
}

bool EndsAttemptsOnExit(const WorkerOptions& options, pid_t own_pid) {
  if (options.stop_attempts_on_exit || options.stop_with_parent) return true;
  if (options.leave_attempts_on_exit) return false;
  return own_pid == 1;
}

}  // namespace epochd::agent
