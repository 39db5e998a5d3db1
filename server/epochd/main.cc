// SPDX-License-Identifier: Apache-2.0
//
// The coordinator: builds the parts in order, waits, takes them down in
// reverse.
#include <prometheus/gauge.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "net/file_limit.h"
#include "net/grpc_log.h"
#include "net/listener_probe.h"
#include "net/server_credentials.h"
#include "net/token.h"
#include "program/file.h"
#include "program/signals.h"
#include "program/version.h"
#include "server/api/catalogues.h"
#include "server/api/server.h"
#include "server/control/clock.h"
#include "server/control/controller.h"
#include "server/epochd/options.h"
#include "server/events/file_store.h"
#include "server/events/log_store.h"
#include "server/events/sweeper.h"
#include "server/metrics/metered_job_store.h"
#include "server/metrics/metrics.h"
#include "server/store/sqlite_job_store.h"
#include "server/web/http_server.h"
#include "server/web/routes.h"

namespace epochd::server {
namespace {

// Store or listener failed while running: a supervisor should start it anew.
constexpr int kExitBroken = 70;
constexpr absl::Duration kStopGrace = absl::Seconds(8);
constexpr size_t kMaxCatalogueBytes = 4 << 20;
constexpr uint64_t kLeastRoom = 1 << 20;

int Fail(const absl::Status& status) {
  spdlog::error("{}", std::string(status.message()));
  return EXIT_FAILURE;
}

absl::Status LoadCatalogue(const std::string& path,
                           api::Catalogues& catalogues) {
  if (path.empty()) return absl::OkStatus();
  auto json = program::ReadFile(path, kMaxCatalogueBytes);
  if (!json.ok()) return json.status();
  return catalogues.Load(path, *std::move(json));
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(
    const Options& options) {
  const auto token = net::LoadOrCreateToken(options.token_file);
  if (!token.ok()) return token.status();
  return net::MakeServerCredentials(
      {.tls = options.tls, .token = net::TokenHash(*token)});
}

// A state folder with less room is as good as full: the next commits, logs or
// uploads will find none.
absl::Status CheckRoom(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return absl::OkStatus();
  const uint64_t free = uint64_t{info.f_bavail} * info.f_frsize;
  if (free >= kLeastRoom) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("--state-dir: '", folder, "' has ", free,
                   " bytes of room, at least ", kLeastRoom, " are needed"));
}

web::Sources MakeSources(const metrics::Metrics& metrics,
                         control::Controller& controller,
                         const std::atomic<bool>& ready,
                         const std::string& state_dir) {
  web::Sources sources;
  sources.metrics = [&metrics] { return metrics.Render(); };
  sources.status = [&controller] {
    web::StatusSnapshot snapshot;
    snapshot.version = program::Version();
    snapshot.cluster_id = controller.cluster_id();
    snapshot.now = absl::Now();
    snapshot.stats = controller.GetStats();
    snapshot.workers = controller.ListWorkers();
    auto page = controller.List({.limit = 100});
    if (page.ok()) snapshot.jobs = std::move(page->jobs);
    return snapshot;
  };
  sources.ask_control = [&controller](absl::AnyInvocable<void()> answered) {
    // Of all commands the one that changes nothing.
    controller.Hint(
        std::make_shared<const job::JobSpec>(),
        [answered = std::move(answered)](
            const absl::StatusOr<std::string>&) mutable { answered(); });
  };
  sources.ready = [&ready, &controller, state_dir] {
    if (!ready) return absl::UnavailableError("not serving");
    const absl::Status store = controller.StoreStatus();
    return store.ok() ? CheckRoom(state_dir) : store;
  };
  return sources;
}

absl::Status WritePortFile(const std::string& path, const std::string& grpc,
                           const std::string& http) {
  if (path.empty()) return absl::OkStatus();
  const nlohmann::ordered_json ports = {
      {"grpc", grpc}, {"http", http}, {"pid", ::getpid()}};
  return program::ReplaceFile(path, ports.dump() + "\n", 0644);
}

int Run(const Options& options, program::StopSignal& stop) {
  const absl::Status made = program::MakePrivateDir(options.state_dir);
  if (!made.ok()) return Fail(made);
  const std::string log_folder = options.state_dir + "/logs";
  const std::string file_folder = options.state_dir + "/files";
  auto sqlite = store::SqliteJobStore::Open(
      {.folder = options.state_dir, .kept = {log_folder, file_folder}});
  if (!sqlite.ok()) return Fail(sqlite.status());
  const auto credentials = MakeCredentials(options);
  if (!credentials.ok()) return Fail(credentials.status());
  auto logs = events::LogStore::Open({.root = log_folder});
  if (!logs.ok()) return Fail(logs.status());
  auto files = events::FileStore::Open({.root = file_folder});
  if (!files.ok()) return Fail(files.status());
  api::Catalogues catalogues;
  const absl::Status loaded = LoadCatalogue(options.catalogue, catalogues);
  if (!loaded.ok()) return Fail(loaded);

  metrics::Metrics metrics(
      {.version = program::Version(), .commit = program::Commit()});
  metrics::MeteredJobStore store(**sqlite, metrics.registry());
  const control::SystemClock clock;
  control::Options control_options;
  control_options.on_fatal = [&stop](const absl::Status& status) {
    stop.Request(
        absl::StrCat("the store failed: ", std::string(status.message())));
  };
  control_options.finished_job_ttl = options.finished_job_ttl;
  control_options.max_finished_jobs = options.max_finished_jobs;
  control_options.quarantine = options.quarantine;
  // Made after the controller that it asks, used only once that runs.
  std::optional<events::Sweeper> sweeper;
  control_options.on_removed = [&sweeper](const std::vector<job::JobId>& jobs) {
    sweeper->Remove(jobs);
  };
  control::Controller controller(std::move(control_options), clock, store);
  sweeper.emplace(
      events::Sweeper::Options{
          .keeps_job =
              [&controller](job::JobId id) { return controller.KeepsJob(id); },
          .uses_file =
              [&controller](const std::string& sha256) {
                return controller.UsesFile(sha256);
              }},
      **logs, **files);
  // On every way out: first who tells it of jobs, then itself.
  const absl::Cleanup end_both = [&] {
    controller.Stop();
    sweeper.reset();
  };
  const absl::Status started = controller.Start();
  if (!started.ok()) return Fail(started);
  sweeper->Start();
  metrics.Watch([&controller] { return controller.GetStats(); });

  std::atomic<bool> ready = false;
  std::unique_ptr<web::HttpServer> http;
  std::string http_address;
  if (options.http_listen) {
    auto http_started = web::HttpServer::Start(
        {.address = options.http_listen->host,
         .port = static_cast<uint16_t>(options.http_listen->port)},
        web::MakeRoutes(
            MakeSources(metrics, controller, ready, options.state_dir)));
    if (!http_started.ok()) return Fail(http_started.status());
    http = *std::move(http_started);
    http_address = http->address();
  }
  auto server =
      api::Server::Start({.listen = options.listen,
                          .credentials = *credentials,
                          .facts = {.version = program::Version(),
                                    .commit = program::Commit(),
                                    .start_time = absl::Now(),
                                    .http_address = http_address},
                          .streams_changed =
                              [&metrics](int change) {
                                metrics.event_subscribers().Increment(change);
                              }},
                         controller, **logs, **files, catalogues);
  if (!server.ok()) return Fail(server.status());
  const std::string grpc_address = (*server)->address().ToString();
  std::optional<net::ListenerProbe> probe;
  probe.emplace(
      net::ListenerProbe::Options{.address = (*server)->address(),
                                  .tls = options.tls.HasIdentity()},
      [&stop](std::string reason) { stop.Request(std::move(reason)); });
  ready = true;
  const absl::Status written =
      WritePortFile(options.port_file, grpc_address, http_address);
  if (!written.ok()) return Fail(written);
  spdlog::info("serving grpc on {}, http on {}, state in {}", grpc_address,
               http_address.empty() ? "nothing" : http_address,
               options.state_dir);

  const program::Stop why = stop.Wait();
  spdlog::info("stopping: {}", why.reason);
  ready = false;
  probe.reset();
  (*server)->Stop(kStopGrace);
  controller.Stop();
  if (!options.port_file.empty()) ::unlink(options.port_file.c_str());
  spdlog::info("stopped");
  return why.signal == 0 ? kExitBroken : EXIT_SUCCESS;
}

int Main(int argc, const char* const* argv) {
  program::StopSignal stop;
  // Logs, files and the token are this account's alone.
  ::umask(077);
  Settings settings;
  if (const auto code = ParseSettings(argc, argv, settings)) return *code;
  const absl::Status logging = program::SetUpLogging(settings.logging);
  if (!logging.ok()) return Fail(logging);
  net::ForwardGrpcLog();
  const auto options = CheckSettings(settings);
  if (!options.ok()) return Fail(options.status());
  if (options->insecure) {
    spdlog::warn("--insecure: whoever reaches {} can read the token",
                 settings.listen);
  }
  const auto file_limit = net::RaiseFileLimit();
  if (!file_limit.ok()) return Fail(file_limit.status());
  return Run(*options, stop);
}

}  // namespace
}  // namespace epochd::server

int main(int argc, char** argv) { return epochd::server::Main(argc, argv); }
