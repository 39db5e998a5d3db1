// SPDX-License-Identifier: Apache-2.0
//
// What the agent asks of the machine: devices, sockets, programs, flags.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>

#include "tests/worker/link/temp_dir.h"
#include "worker/agent/devices.h"
#include "worker/agent/last_words.h"
#include "worker/agent/rendezvous.h"
#include "worker/agent/trainer_catalogue.h"
#include "worker/agent/work_folder.h"
#include "worker/agent/worker_options.h"

namespace epochd::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int result =
      connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  close(fd);
  return result;
}

int PortOf(const std::string& address) {
  return std::stoi(address.substr(address.rfind(':') + 1));
}

TEST(Rendezvous, ListensOnAPortOfItsOwn) {
  const auto a = BindRendezvous("127.0.0.1", true);
  const auto b = BindRendezvous("127.0.0.1", true);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->address, b->address);
  EXPECT_EQ(Connect(PortOf(a->address)), 0);
  close(a->fd);
  close(b->fd);
}

TEST(Rendezvous, AKeptPortCanBeBoundAgainByTheRankAlone) {
  const auto kept = BindRendezvous("127.0.0.1", false);
  ASSERT_TRUE(kept.ok());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(PortOf(kept->address)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(fd, 5), 0);
  EXPECT_EQ(Connect(PortOf(kept->address)), 0);
  close(fd);
  close(kept->fd);
}

TEST(Rendezvous, TellsOfAHostThatIsNotThere) {
  const auto socket = BindRendezvous("no.such.host.invalid", true);
  ASSERT_FALSE(socket.ok());
  EXPECT_THAT(std::string(socket.status().message()),
              HasSubstr("'no.such.host.invalid'"));
}

TEST(Devices, OffersSlotsOfItsCoresAndMore) {
  const int usable = UsableCpus();
  EXPECT_GE(usable, 1);
  EXPECT_GT(UsableMemory(), 64 << 20);
  const std::vector<Device> slots = CpuSlots(usable + 300);
  std::set<std::string> ids;
  for (const Device& slot : slots) {
    EXPECT_THAT(slot.id, StartsWith("cpu:"));
    ids.insert(slot.id);
  }
  EXPECT_EQ(ids.size(), slots.size());
}

TEST(Devices, AMachineWithoutDriverHasNoGpus) {
  if (std::filesystem::exists("/proc/driver/nvidia/version")) {
    EXPECT_FALSE(Gpus().empty());
  } else {
    EXPECT_TRUE(Gpus().empty());
  }
}

TEST(WorkFolder, CanBeUsedWhereThereIsRoomAndLeavesNothingBehind) {
  const TempDir dir;
  EXPECT_EQ(FolderProblem(dir.path(), 1), "");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(WorkFolder, IsOfNoUseWithTooLittleFreeSpace) {
  const TempDir dir;
  const std::string problem =
      FolderProblem(dir.path(), std::numeric_limits<int64_t>::max());
  EXPECT_THAT(problem, HasSubstr("work folder '" + dir.path() + "' has "));
  EXPECT_THAT(problem, HasSubstr(" MiB free, --min-free-space asks for "));
}

TEST(WorkFolder, IsOfNoUseWhereNothingCanBeWritten) {
  EXPECT_EQ(FolderProblem("/proc/self", 0),
            "work folder '/proc/self' cannot be written: No such file or "
            "directory");
  // A device that is full whatever is written to it.
  const TempDir dir;
  std::filesystem::create_symlink("/dev/full", dir / "probe");
  EXPECT_THAT(FolderProblem(dir.path(), 0),
              HasSubstr("cannot be written: No space left on device"));
}

TEST(LastWords, PreferAnErrorToldOverTheLogAndArePrintable) {
  const TempDir dir;
  EXPECT_EQ(LastWords(dir.path()), "");
  Append(dir / "log", "first\nTraceback\r\n\x1b[31mboom\xff\n\n");
  EXPECT_EQ(LastWords(dir.path()), "its log ends with: \\x1b[31mboom\\xff");
  Append(dir / "events.jsonl",
         "{\"type\":\"notice\",\"severity\":\"error\",\"text\":\"two\\nlines\"}"
         "\n");
  EXPECT_EQ(LastWords(dir.path()), "two; lines");
  Append(dir / "events.jsonl",
         "{\"type\":\"notice\",\"severity\":\"error\",\"text\":\"" +
             std::string(5000, 'x') + "\"}\n");
  EXPECT_LT(LastWords(dir.path()).size(), 600U);
}

TEST(TrainerCatalogue, IsAskedOnceForEachTrainer) {
  const TempDir dir;
  const auto asked = LoadTrainerCatalogue(FAKE_TRAINER, dir.path());
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_THAT(asked->json, HasSubstr("components"));
  EXPECT_EQ(asked->sha256.size(), 64U);
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}),
            1);
  const std::string cache =
      std::filesystem::directory_iterator(dir.path())->path().string();
  std::filesystem::resize_file(cache, 0);
  Append(cache, "{\"cached\": true}");
  EXPECT_EQ(LoadTrainerCatalogue(FAKE_TRAINER, dir.path())->json,
            "{\"cached\": true}");
}

TEST(TrainerCatalogue, TellsWhatIsWrong) {
  const TempDir dir;
  EXPECT_THAT(
      std::string(
          LoadTrainerCatalogue("/no/trainer", dir.path()).status().message()),
      HasSubstr("'/no/trainer'"));
  EXPECT_FALSE(LoadTrainerCatalogue("/bin/false", dir.path()).ok());
  EXPECT_FALSE(LoadTrainerCatalogue("/bin/echo", dir.path()).ok());
}

WorkerOptions Options(const TempDir& dir) {
  WorkerOptions options;
  options.work_dir = dir / "work";
  options.trainer = FAKE_TRAINER;
  return options;
}

TEST(WorkerOptions, FillsInWhatIsNotSaid) {
  const TempDir dir;
  WorkerOptions options = Options(dir);
  options.labels = {"zone=a", "rack=b=c"};
  const auto made = MakeAgentOptions(options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_FALSE(made->worker.name.empty());
  EXPECT_EQ(made->worker.labels.at("rack"), "b=c");
  EXPECT_EQ(made->core.advertise_host, "127.0.0.1");
  EXPECT_EQ(made->core.storage, dir / "work/storage");
  EXPECT_FALSE(made->worker.catalogue_sha256.empty());
  EXPECT_NE(MakeAgentOptions(options)->worker.incarnation,
            made->worker.incarnation);
}

TEST(WorkerOptions, NamesTheFlagThatIsWrong) {
  const TempDir dir;
  const struct {
    void (*spoil)(WorkerOptions&);
    const char* problem;
  } kRows[] = {
      {[](WorkerOptions& o) { o.name = "GPU_1"; }, "--name: 'GPU_1'"},
      {[](WorkerOptions& o) { o.name = "-a"; }, "--name"},
      {[](WorkerOptions& o) { o.name = std::string(64, 'a'); }, "--name"},
      {[](WorkerOptions& o) { o.cpus = -1; }, "--cpus: '-1'"},
      {[](WorkerOptions& o) { o.labels = {"zone"}; }, "--labels: 'zone'"},
      {[](WorkerOptions& o) {
         o.labels = {"a=b", "a=c"};
       },
       "--labels: 'a' is given twice"},
      {[](WorkerOptions& o) { o.drain_timeout = "soon"; },
       "--drain-timeout: 'soon'"},
      {[](WorkerOptions& o) { o.min_free_space = "much"; },
       "--min-free-space: 'much'"},
      {[](WorkerOptions& o) { o.coordinator = "host"; }, "--coordinator"},
      {[](WorkerOptions& o) { o.work_dir = "/proc/x"; }, "--work-dir"},
      {[](WorkerOptions& o) { o.catalogue = "/no/file"; }, "--catalogue"},
      {[](WorkerOptions& o) {
         o.stop_attempts_on_exit = o.leave_attempts_on_exit = true;
       },
       "--leave-attempts-on-exit"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.problem);
    WorkerOptions options = Options(dir);
    row.spoil(options);
    const auto made = MakeAgentOptions(options);
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(std::string(made.status().message()), HasSubstr(row.problem));
  }
}

TEST(WorkerOptions, PluginsAreFoundFromTheFoldersOfRanks) {
  const TempDir dir;
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  Append(dir / "mine.so", "");
  WorkerOptions options = Options(dir);
  options.plugins = "mine.so:./mine.so:/a/b.so:libtheirs.so";
  EXPECT_TRUE(MakeAgentOptions(options).ok());
  std::filesystem::current_path(here);
  EXPECT_EQ(
      getenv("EPOCHD_PLUGINS"),
      dir / "mine.so" + ":" + (dir / "./mine.so") + ":/a/b.so:libtheirs.so");
  unsetenv("EPOCHD_PLUGINS");
}

TEST(WorkerOptions, WithoutATrainerOnlyCommandsAreOffered) {
  const TempDir dir;
  WorkerOptions options = Options(dir);
  options.trainer = "/no/trainer";
  const auto made = MakeAgentOptions(options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->worker.catalogue_sha256, "");
  EXPECT_FALSE(made->runner.warm);
}

TEST(WorkerOptions, HostNamesBecomeWorkerNames) {
  EXPECT_EQ(NameFromHost("gpu-7"), "gpu-7");
  EXPECT_EQ(NameFromHost("GPU_node.example.org"), "gpu-node");
  EXPECT_EQ(NameFromHost("--"), "worker");
  EXPECT_EQ(NameFromHost(""), "worker");
  EXPECT_EQ(NameFromHost(std::string(100, 'a')).size(), 63U);
}

TEST(WorkerOptions, AttemptsEndWithTheAgentOnlyWhereNothingOutlivesIt) {
  WorkerOptions options;
  EXPECT_FALSE(EndsAttemptsOnExit(options, 4711));
  EXPECT_TRUE(EndsAttemptsOnExit(options, 1));
  options.leave_attempts_on_exit = true;
  EXPECT_FALSE(EndsAttemptsOnExit(options, 1));
  options.stop_with_parent = true;
  EXPECT_TRUE(EndsAttemptsOnExit(options, 4711));
}

}  // namespace
}  // namespace epochd::agent
