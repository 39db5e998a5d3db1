// SPDX-License-Identifier: Apache-2.0
//
// With scripts in place of the programs, to see how they are started and
// ended.
#include "client/epochctl/local_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "tests/client/epochctl/harness.h"

namespace epochd::epochctl {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr const char* kCoordinator = R"(#!/bin/sh
dir=$(dirname "$0")
echo "epochd $*" >> "$dir/calls"
trap 'echo "epochd ends" >> "$dir/calls"; exit 0' TERM
while [ $# -gt 0 ]; do
  [ "$1" = --port-file ] && echo '{"grpc":"127.0.0.1:4242"}' > "$2.tmp" && mv "$2.tmp" "$2"
  shift
done
while :; do sleep 0.05; done
)";

constexpr const char* kWorker = R"(#!/bin/sh
dir=$(dirname "$0")
trap 'echo "worker ends" >> "$dir/calls"; exit 0' TERM
echo "worker $*" >> "$dir/calls"
while :; do sleep 0.05; done
)";

class LocalClusterTest : public testing::Test {
 protected:
  LocalCluster::Options Options() const {
    LocalCluster::Options options;
    options.bin_dir = folder_.path();
    options.folder = folder_.path() + "/run";
    options.cpus = 3;
    return options;
  }
  std::string Calls() const {
    std::ifstream file(folder_.path() + "/calls");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TempFolder folder_;
};

TEST_F(LocalClusterTest, StartsBothAndEndsTheWorkerFirst) {
  folder_.Write("epochd", kCoordinator, true);
  folder_.Write("epochd-worker", kWorker, true);
  {
    auto cluster = LocalCluster::Start(Options());
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ((*cluster)->server(), "127.0.0.1:4242");
    EXPECT_EQ((*cluster)->token_file(),
              folder_.path() + "/run/coordinator/token");
    EXPECT_TRUE((*cluster)->Check().ok());
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (Calls().find("worker") == std::string::npos &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  }
  const std::string run = folder_.path() + "/run";
  const std::string calls = Calls();
  EXPECT_THAT(calls, HasSubstr("epochd --state-dir " + run +
                               "/coordinator --listen 127.0.0.1:0 "
                               "--http-listen  --port-file " +
                               run + "/port\n"));
  EXPECT_THAT(
      calls,
      HasSubstr("worker --coordinator 127.0.0.1:4242 --token-file " + run +
                "/coordinator/token --work-dir " + run + "/worker --storage " +
                run +
                "/storage --cpus 3 --drain-timeout 10s --stop-with-parent\n"));
  EXPECT_LT(calls.find("worker ends"), calls.find("epochd ends"));
}

TEST_F(LocalClusterTest, SaysWhyTheCoordinatorEnded) {
  folder_.Write("epochd",
                "#!/bin/sh\necho '[info] begins' >&2\n"
                "echo 'state-dir: is locked' >&2\nexit 4\n",
                true);
  const auto cluster = LocalCluster::Start(Options());
  EXPECT_THAT(std::string(cluster.status().message()),
              HasSubstr("epochd ended (exit code 4)"));
  EXPECT_THAT(std::string(cluster.status().message()),
              EndsWith("epochd.log': state-dir: is locked"))
      << "the last line alone";
}

TEST_F(LocalClusterTest, NamesTheProgramThatIsMissing) {
  folder_.Write("epochd", kCoordinator, true);
  const auto cluster = LocalCluster::Start(Options());
  EXPECT_THAT(std::string(cluster.status().message()),
              HasSubstr("epochd-worker' beside this one"));
  EXPECT_THAT(Calls(), HasSubstr("epochd ends"));
}

TEST_F(LocalClusterTest, StopsWaitingWhenAskedTo) {
  folder_.Write("epochd", "#!/bin/sh\nexec sleep 100\n", true);
  LocalCluster::Options options = Options();
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  EXPECT_EQ(LocalCluster::Start(options).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace epochd::epochctl
