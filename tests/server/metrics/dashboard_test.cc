// SPDX-License-Identifier: Apache-2.0
//
// A real Prometheus scrapes what we serve, with the configuration that we
// ship, and every expression of the dashboard is run against it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/metrics/metered_job_store.h"
#include "server/metrics/metrics.h"
#include "server/store/memory_job_store.h"
#include "server/web/http_server.h"
#include "tests/conformance/job_samples.h"
#include "tests/server/metrics/sample_stats.h"
#include "tests/temp_folder.h"

extern char** environ;

namespace epochd::metrics {
namespace {

// A child that is ended and waited for with the object.
class Child {
 public:
  Child(std::vector<std::string> arguments, const std::string& output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    if (posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ) !=
        0) {
      pid_ = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Child() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    Wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int Wait() {
    int status = -1;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
};

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

std::string SourceFolder() { return std::getenv("EPOCHD_TEST_SOURCE_DIR"); }

// Where Prometheus says in its log that it listens; empty: nothing came.
std::string AddressIn(const std::string& log) {
  static const std::regex kSays("msg=\"Listening on\".* address=(\\S+)\n");
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (absl::Now() < deadline) {
    const std::string text = Contents(log);
    std::smatch match;
    if (std::regex_search(text, match, kSays)) return match[1];
    poll(nullptr, 0, 10);
  }
  return "";
}

TEST(DashboardTest, IsWhatItsScriptWrites) {
  EXPECT_EQ(std::system(("python3 " + SourceFolder() +
                         "/deploy/grafana/dashboard.py --check")
                            .c_str()),
            0);
}

TEST(DashboardTest, EveryExpressionReturnsSeriesInARealPrometheus) {
  if (std::system("prometheus --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "prometheus is not installed";
  }
  TempFolder temp;
  control::Stats stats = SampleStats();
  stats.active_jobs[0].progress->loss = 0.25;
  Metrics metrics({.version = "0.1.0", .commit = "abc"});
  store::MemoryJobStore memory;
  MeteredJobStore store(memory, metrics.registry());
  int64_t num_scrapes = 0;
  metrics.Watch([&] {
    // Something happens between two scrapes.
    ++num_scrapes;
    EXPECT_TRUE(
        store.Commit({.jobs = {store::SampleJob(num_scrapes).Begin()}}).ok());
    ++stats.queue_wait.counts[1];
    return stats;
  });
  web::Routes routes;
  routes["/metrics"] = [&] {
    return web::Response{200, "text/plain; version=0.0.4", metrics.Render()};
  };
  auto server = web::HttpServer::Start({.num_threads = 1}, std::move(routes));
  ASSERT_TRUE(server.ok()) << server.status();

  // The shipped file, with another target, folder and pace.
  std::string config =
      Contents(SourceFolder() + "/deploy/prometheus/prometheus.yml");
  const auto replace = [&](const std::string& from, const std::string& to) {
    const auto at = config.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    config.replace(at, from.size(), to);
  };
  replace("127.0.0.1:7951\"]", (*server)->address() + "\"]");
  replace("- alerts.yml",
          "- " + SourceFolder() + "/deploy/prometheus/alerts.yml");
  replace("scrape_interval: 5s", "scrape_interval: 1s");
  replace("scrape_timeout: 4s", "scrape_timeout: 1s");
  std::ofstream(temp / "prometheus.yml") << config;

  const Child prometheus(
      {"prometheus", "--config.file=" + (temp / "prometheus.yml"),
       "--storage.tsdb.path=" + (temp / "data"),
       "--web.listen-address=127.0.0.1:0"},
      temp / "prometheus.log");
  const std::string address = AddressIn(temp / "prometheus.log");
  ASSERT_NE(address, "") << Contents(temp / "prometheus.log");
  Child check({"python3", SourceFolder() + "/deploy/grafana/check_dashboard.py",
               "http://" + address, "--wait", "60"},
              temp / "check.log");
  const int status = check.Wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << Contents(temp / "check.log") << Contents(temp / "prometheus.log");
}

}  // namespace
}  // namespace epochd::metrics
