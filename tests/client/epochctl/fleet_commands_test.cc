// SPDX-License-Identifier: Apache-2.0
//
// worker list, get and drain, health, version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/epochctl/exit_code.h"
#include "tests/client/epochctl/coordinator.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FleetCommandsTest : public CoordinatorTest {
 protected:
  FleetCommandsTest() {
    v1::Worker& worker = server_.workers.worker;
    worker.set_name("workers/n1");
    worker.set_state(v1::WORKER_STATE_READY);
    worker.set_hostname("host-1");
    worker.set_version("0.1.0");
    worker.set_memory_bytes(int64_t{8} << 30);
    worker.mutable_last_seen_time()->set_seconds(1000000 - 5);
    (*worker.mutable_labels())["zone"] = "b";
    (*worker.mutable_labels())["arch"] = "x\x1b";
    for (int i = 0; i < 3; ++i) {
      v1::Device& device = *worker.add_devices();
      device.set_id("cpu:" + std::to_string(i));
      device.set_kind(v1::DEVICE_KIND_CPU);
      device.set_model("Zen");
      if (i < 2) device.set_held_by("jobs/a1/attempts/1");
    }
    v1::Device& gpu = *worker.add_devices();
    gpu.set_id("GPU-1");
    gpu.set_kind(v1::DEVICE_KIND_GPU);
    gpu.set_model("H200");
    gpu.set_memory_bytes(int64_t{141} << 30);
    v1::ServerInfo& info = server_.server.info;
    info.set_version("0.1.0");
    info.set_commit("abc");
    info.mutable_start_time()->set_seconds(1000000 - 61);
  }
};

TEST_F(FleetCommandsTest, ListsWorkersAsATable) {
  EXPECT_EQ(Run({"worker", "list"}), kOk) << err();
  EXPECT_EQ(out(),
            "NAME  STATE  CPUS  GPUS  SEEN  MESSAGE\n"
            "n1    READY  2/3   0/1   5s\n");
  server_.workers.worker.set_message("two\nlines");
  EXPECT_EQ(Run({"worker", "list", "-o", "wide", "--no-headers"}), kOk);
  EXPECT_EQ(out(),
            "n1  READY  2/3  0/1  5s  8GiB  host-1  0.1.0  two\\nlines\n");
  EXPECT_EQ(Run({"worker", "list", "-o", "name"}), kOk);
  EXPECT_EQ(out(), "workers/n1\n");
  EXPECT_EQ(Run({"worker", "list", "-o", "yaml"}), kOk);
  EXPECT_THAT(out(), HasSubstr("workers:\n  - name: workers/n1\n"));
}

TEST_F(FleetCommandsTest, SaysThatThereAreNoWorkersWithoutATable) {
  server_.workers.is_empty = true;
  EXPECT_EQ(Run({"worker", "list"}), kOk);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "no workers\n");
  EXPECT_EQ(Run({"worker", "list", "--no-headers"}), kOk);
  EXPECT_EQ(out() + err(), "");
  EXPECT_EQ(Run({"worker", "list", "-o", "json"}), kOk);
  EXPECT_EQ(out(), "{\n  \"workers\": []\n}\n");
}

TEST_F(FleetCommandsTest, ShowsOneWorkerWithDevicesAndLabels) {
  EXPECT_EQ(Run({"worker", "get", "n1"}), kOk) << err();
  EXPECT_EQ(out(),
            "workers/n1 READY\n"
            "host host-1, version 0.1.0, memory 8GiB\n"
            "label arch=x\\x1b\n"
            "label zone=b\n"
            "DEVICE  KIND  MODEL  MEMORY  HELD BY\n"
            "cpu:0   cpu   Zen    -       jobs/a1/attempts/1\n"
            "cpu:1   cpu   Zen    -       jobs/a1/attempts/1\n"
            "cpu:2   cpu   Zen    -       -\n"
            "GPU-1   gpu   H200   141GiB  -\n");
  EXPECT_EQ(Run({"worker", "get", "workers/n1", "-q"}), kOk);
  EXPECT_EQ(out(), "workers/n1\n");
  EXPECT_EQ(Run({"worker", "get", "n1", "-o", "json"}), kOk);
  EXPECT_THAT(out(), HasSubstr("\"held_by\": \"jobs/a1/attempts/1\""));
  EXPECT_EQ(Run({"worker", "get", "n2"}), kNotFound);
  EXPECT_EQ(err(), "error: no worker workers/n2\n");
}

TEST_F(FleetCommandsTest, DrainsAndTakesItBack) {
  EXPECT_EQ(Run({"worker", "drain", "n1"}), kOk) << err();
  EXPECT_EQ(out(), "workers/n1 DRAINING\n");
  EXPECT_EQ(Run({"worker", "drain", "n1", "--undo"}), kOk);
  EXPECT_EQ(out(), "workers/n1 READY\n");
  EXPECT_EQ(Run({"worker", "drain", "n1", "-o", "name"}), kOk);
  EXPECT_EQ(out(), "workers/n1\n");
  EXPECT_EQ(Run({"worker", "drain", "n1", "-o", "yaml"}), kOk);
  EXPECT_THAT(out(), HasSubstr("state: WORKER_STATE_DRAINING\n"));
}

TEST_F(FleetCommandsTest, PaintsStatesOnlyWhereColourIsWanted) {
  EXPECT_EQ(Run({"worker", "list", "--color", "always"}), kOk);
  EXPECT_THAT(out(), HasSubstr("\x1b[32mREADY\x1b[0m"));
  server_.workers.worker.set_state(v1::WORKER_STATE_LOST);
  EXPECT_EQ(Run({"worker", "list", "--color", "always"}), kOk);
  EXPECT_THAT(out(), HasSubstr("\x1b[31mLOST\x1b[0m"));
  EXPECT_EQ(Run({"worker", "list"}), kOk);
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
}

TEST_F(FleetCommandsTest, TellsHealthAndUptime) {
  EXPECT_EQ(Run({"health"}), kOk) << err();
  EXPECT_EQ(out(), "ok, epochd 0.1.0, up 1m01s\n");
  EXPECT_EQ(Run({"health", "-o", "json"}), kOk);
  EXPECT_THAT(out(), HasSubstr("\"commit\": \"abc\""));
  server_.FailWith({grpc::StatusCode::UNAVAILABLE, "stopping"});
  EXPECT_EQ(Run({"health"}), kUnreachable);
  EXPECT_EQ(out(), "");
}

TEST_F(FleetCommandsTest, PrintsBothVersions) {
  EXPECT_EQ(Run({"version"}), kOk) << err();
  EXPECT_THAT(out(), HasSubstr("server 0.1.0 (abc)\n"));
  EXPECT_EQ(Run({"version", "-o", "json"}), kOk);
  EXPECT_THAT(out(), HasSubstr("\"commit\": \"abc\""));
  EXPECT_EQ(Run({"version", "--client"}), kOk);
  EXPECT_THAT(out(), HasSubstr("server not asked\n"));
}

TEST_F(FleetCommandsTest, PrintsTheClientsVersionWhateverTheServerSays) {
  server_.FailWith({grpc::StatusCode::UNAUTHENTICATED, "no such token"});
  EXPECT_EQ(Run({"version"}), kNotAllowed);
  EXPECT_THAT(out(), HasSubstr("server no answer\n"));
  EXPECT_THAT(err(), HasSubstr("error: no such token\n"));
  environment_["EPOCHD_SERVER"] = "127.0.0.1:1";
  EXPECT_EQ(Run({"version"}), kOk);
  EXPECT_EQ(err(), "");
}

}  // namespace
}  // namespace epochd::epochctl
