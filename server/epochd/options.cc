// SPDX-License-Identifier: Apache-2.0
#include "server/epochd/options.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "net/bind_policy.h"
#include "program/flags.h"
#include "program/home.h"

namespace epochd::server {
namespace {

constexpr absl::Duration kLeastTtl = absl::Minutes(5);
constexpr absl::Duration kLeastQuarantine = absl::Seconds(1);

absl::Status CheckQuarantine(const Settings& settings,
                             fleet::Quarantine::Options& quarantine) {
  quarantine.failures = settings.quarantine_after;
  if (quarantine.failures < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("quarantine-after: '", settings.quarantine_after,
                     "' is negative, 0 (never) and more is accepted"));
  }
  const auto parse = [](const char* flag, const std::string& text,
                        absl::Duration least, absl::Duration& value) {
    // Infinite would need somebody to end it.
    if (absl::ParseDuration(text, &value) && value >= least &&
        value < absl::InfiniteDuration()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": '", text, "' is no time for a quarantine, ",
                     absl::FormatDuration(least), " and more is accepted"));
  };
  absl::Status status = parse("quarantine-for", settings.quarantine_for,
                              kLeastQuarantine, quarantine.first);
  if (!status.ok()) return status;
  return parse("quarantine-at-most", settings.quarantine_at_most,
               quarantine.first, quarantine.longest);
}

// The build and the packages install it as share/epochd/catalogue.json beside
// the folder of the binaries.
std::string InstalledCatalogue() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const auto path =
      self.parent_path().parent_path() / "share/epochd/catalogue.json";
  return std::filesystem::exists(path, error) ? path.string() : "";
}

}  // namespace

std::optional<int> ParseSettings(int argc, const char* const* argv,
                                 Settings& settings) {
  settings.state_dir = program::DefaultCoordinatorDir();
  program::Flags flags(
      "epochd", "Coordinator of epochd: job API, queue, scheduler, journal.",
      {"epochd                                # for this machine alone",
       "epochd --listen 0.0.0.0:7950 --tls-cert server.crt --tls-key "
       "server.key",
       "epochd --config /etc/epochd/epochd.yaml",
       "EPOCHD_LOG_LEVEL=debug epochd --http-listen ''   # no HTTP"});
  flags.Add("state-dir", settings.state_dir,
            "folder for journal, logs, uploaded files and the token");
  flags.Add("listen", settings.listen,
            "host:port of the API; port 0 takes a free one. Other than "
            "loopback needs TLS, or --insecure");
  flags.Add("http-listen", settings.http_listen,
            "host:port of /metrics, /healthz, /readyz and the page, without "
            "TLS or token; empty: off");
  flags.Add("port-file", settings.port_file,
            "file to write once serving: JSON with grpc, http and pid; removed "
            "at a clean end");
  flags.Add("token-file", settings.token_file,
            "file (mode 0600) with the token that every call must carry; made "
            "when missing. Default: token in the state folder");
  flags.Add("tls-cert", settings.tls_cert,
            "certificate chain in PEM form; read again when it changes");
  flags.Add("tls-key", settings.tls_key, "its private key in PEM form");
  flags.Add("tls-client-ca", settings.tls_client_ca,
            "roots that a client's certificate must lead to; empty: clients "
            "need none");
  flags.AddSwitch("insecure", settings.insecure,
                  "listen on any address without TLS: whoever reads the "
                  "traffic can take over the service");
  flags.Add("catalogue", settings.catalogue,
            "JSON that epochd-trainer --catalogue printed, to check jobs with "
            "until a worker brings its own. Default: the installed one");
  flags.Add(
      "finished-job-ttl", settings.finished_job_ttl,
      "how long a job is kept after its end, with its events, logs and "
      "request ids, such as 720h; at least 5m; inf: for ever. Checkpoints "
      "stay");
  flags.Add("max-finished-jobs", settings.max_finished_jobs,
            "finished jobs that are kept at most; those that finished first go "
            "first, none within 5m of its end");
  flags.Add("quarantine-after", settings.quarantine_after,
            "attempts in a row, of at least 2 jobs, that fail on a worker for "
            "reasons of a machine before it gets no new work for a while; 0: "
            "never");
  flags.Add("quarantine-for", settings.quarantine_for,
            "how long that is the first time; each further failure doubles it");
  flags.Add("quarantine-at-most", settings.quarantine_at_most,
            "how long it is in the end");
  flags.AddLogging(settings.logging);
  return flags.Parse(argc, argv);
}

absl::StatusOr<Options> CheckSettings(const Settings& settings) {
  Options options;
  options.state_dir = settings.state_dir;
  options.port_file = settings.port_file;
  options.token_file = settings.token_file.empty()
                           ? settings.state_dir + "/token"
                           : settings.token_file;
  options.tls = {settings.tls_cert, settings.tls_key, settings.tls_client_ca};
  options.insecure = settings.insecure;
  options.catalogue =
      settings.catalogue.empty() ? InstalledCatalogue() : settings.catalogue;
  options.max_finished_jobs = settings.max_finished_jobs;
  if (options.max_finished_jobs < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max-finished-jobs: '", settings.max_finished_jobs,
                     "' is negative, 0 and more is accepted"));
  }
  if (!absl::ParseDuration(settings.finished_job_ttl,
                           &options.finished_job_ttl) ||
      options.finished_job_ttl < kLeastTtl) {
    return absl::InvalidArgumentError(absl::StrCat(
        "finished-job-ttl: '", settings.finished_job_ttl,
        "' is no time to keep a job, 5m and more, such as 720h, or inf is "
        "accepted"));
  }
  absl::Status quarantine = CheckQuarantine(settings, options.quarantine);
  if (!quarantine.ok()) return quarantine;
  if (!options.tls.ca.empty() && !options.tls.HasIdentity()) {
    return absl::InvalidArgumentError(
        "tls-client-ca: needs --tls-cert and --tls-key");
  }
  auto listen = net::ParseAddress("listen", settings.listen);
  if (!listen.ok()) return listen.status();
  options.listen = *listen;
  absl::Status bind = net::CheckBind("listen", options.listen,
                                     {.tls = options.tls.HasIdentity(),
                                      .token = true,
                                      .insecure = options.insecure});
  if (!bind.ok()) return bind;
  if (settings.http_listen.empty()) return options;
  auto http = net::ParseAddress("http-listen", settings.http_listen);
  if (!http.ok()) return http.status();
  bind = net::CheckBind(
      "http-listen", *http,
      {.tls = false, .token = false, .insecure = options.insecure});
  if (!bind.ok()) return bind;
  if (http->host == "localhost") http->host = "127.0.0.1";
  options.http_listen = *http;
  return options;
}

}  // namespace epochd::server
