// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's program as people start it: a process of its own.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "epochd/v1/server.grpc.pb.h"
#include "net/channel.h"
#include "net/token.h"
#include "tests/temp_folder.h"

namespace epochd::server {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// One run of the program; killed and waited for at the end.
class Program {
 public:
  Program(std::vector<std::string> arguments, const std::string& log)
      : log_(log) {
    const char* bin = std::getenv("EPOCHD_TEST_BIN_DIR");
    arguments.insert(arguments.begin(),
                     std::string(bin == nullptr ? "." : bin) + "/epochd");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(fd, STDOUT_FILENO);
      ::dup2(fd, STDERR_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  ~Program() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Signal(int signal) const { ::kill(pid_, signal); }
  // The exit code, or 128 + signal.
  int Wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string log() const { return Slurp(log_); }

 private:
  const std::string log_;
  pid_t pid_ = -1;
};

class EpochdTest : public ::testing::Test {
 protected:
  std::vector<std::string> Arguments() const {
    return {"--state-dir", folder_ / "state", "--listen",
            "127.0.0.1:0", "--http-listen",   "127.0.0.1:0",
            "--port-file", folder_ / "ports", "--log-format",
            "json"};
  }
  std::string Log() const { return folder_ / "log"; }

  // Waits for the port file of a program that was just started.
  nlohmann::json Ports() const {
    const absl::Time deadline = absl::Now() + kPatience;
    while (absl::Now() < deadline) {
      const std::string text = Slurp(folder_ / "ports");
      if (!text.empty()) return nlohmann::json::parse(text);
      ::poll(nullptr, 0, 10);
    }
    ADD_FAILURE() << "no port file; log:\n" << Slurp(Log());
    return {{"grpc", "127.0.0.1:1"}, {"http", ""}, {"pid", 0}};
  }

  absl::StatusOr<v1::ServerInfo> Ask(const std::string& server) const {
    const auto token = net::LoadToken(folder_ / "state/token");
    if (!token.ok()) return token.status();
    const auto channel = net::MakeChannel({.server = server, .token = *token});
    if (!channel.ok()) return channel.status();
    v1::ServerInfo info;
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    const grpc::Status status =
        v1::ServerService::NewStub(*channel)->GetServerInfo(&context, {},
                                                            &info);
    if (!status.ok()) return absl::UnavailableError(status.error_message());
    return info;
  }

  const TempFolder folder_;
};

TEST_F(EpochdTest, ServesWithItsTokenAndStopsCleanlyOnSigterm) {
  Program program(Arguments(), Log());
  const auto ports = Ports();
  const auto info = Ask(ports["grpc"]);
  ASSERT_TRUE(info.ok()) << info.status() << program.log();
  EXPECT_EQ(info->version(), EPOCHD_VERSION);
  EXPECT_EQ(info->http_address(), ports["http"].get<std::string>());
  struct stat token {};
  ASSERT_EQ(::stat((folder_ / "state/token").c_str(), &token), 0);
  EXPECT_EQ(token.st_mode & 0777, 0600u);
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0) << program.log();
  EXPECT_NE(::access((folder_ / "ports").c_str(), F_OK), 0);
  // The token appears nowhere but in its file.
  EXPECT_EQ(
      program.log().find(net::LoadToken(folder_ / "state/token")->secret()),
      std::string::npos);
}

TEST_F(EpochdTest, KeepsClusterAndTokenAcrossRestarts) {
  std::string first;
  for (int i = 0; i < 2; ++i) {
    Program program(Arguments(), Log());
    const auto info = Ask(Ports()["grpc"]);
    ASSERT_TRUE(info.ok()) << info.status() << program.log();
    if (i == 0) first = info->cluster_id();
    EXPECT_EQ(info->cluster_id(), first);
    program.Signal(SIGTERM);
    EXPECT_EQ(program.Wait(), 0) << program.log();
  }
}

TEST_F(EpochdTest, RefusesAWiderBindWithARemedy) {
  auto arguments = Arguments();
  arguments[3] = "0.0.0.0:0";
  Program program(arguments, Log());
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_NE(program.log().find("--insecure"), std::string::npos)
      << program.log();
}

TEST_F(EpochdTest, RefusesAFolderThatAnotherHolds) {
  Program first(Arguments(), Log());
  Ports();
  auto arguments = Arguments();
  arguments[7] = folder_ / "other-ports";
  Program second(arguments, folder_ / "second-log");
  EXPECT_EQ(second.Wait(), 1) << second.log();
  first.Signal(SIGINT);
  EXPECT_EQ(first.Wait(), 0);
}

TEST_F(EpochdTest, RefusesALostStoreWhileLogsAreThereAndKeepsThem) {
  const std::string log = folder_ / "state/logs/kept/0.log";
  const std::string store = folder_ / "state/epochd.db";
  std::filesystem::create_directories(folder_ / "state/logs/kept");
  std::ofstream(log) << "line\n";
  for (const bool is_empty : {false, true, true}) {
    std::filesystem::remove(store);
    if (is_empty) std::ofstream(store).flush();
    Program program(Arguments(), Log());
    EXPECT_EQ(program.Wait(), 1);
    EXPECT_NE(program.log().find("restore the file from a backup"),
              std::string::npos)
        << program.log();
    EXPECT_TRUE(std::filesystem::exists(log));
  }
  std::filesystem::remove_all(folder_ / "state/logs");
  Program program(Arguments(), Log());
  Ports();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
}

TEST_F(EpochdTest, RefusesATokenThatOthersCanRead) {
  ASSERT_EQ(::mkdir((folder_ / "state").c_str(), 0700), 0);
  std::ofstream(folder_ / "state/token") << std::string(64, 'a');
  ASSERT_EQ(::chmod((folder_ / "state/token").c_str(), 0644), 0);
  Program program(Arguments(), Log());
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_NE(program.log().find("chmod 600"), std::string::npos);
}

TEST_F(EpochdTest, LogsJsonLinesWhenAsked) {
  Program program(Arguments(), Log());
  Ports();
  program.Signal(SIGTERM);
  program.Wait();
  std::istringstream lines(program.log());
  std::string line;
  int num_lines = 0;
  while (std::getline(lines, line)) {
    const auto record = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(record.is_object()) << line;
    EXPECT_EQ(record["program"], "epochd");
    ++num_lines;
  }
  EXPECT_GE(num_lines, 2);
}

TEST_F(EpochdTest, VersionAndHelpEndWithZeroAndBadFlagsWith64) {
  Program version({"--version"}, folder_ / "version");
  EXPECT_EQ(version.Wait(), 0);
  EXPECT_EQ(version.log().rfind("epochd " EPOCHD_VERSION, 0), 0u)
      << version.log();
  Program help({"--help"}, folder_ / "help");
  EXPECT_EQ(help.Wait(), 0);
  EXPECT_LT(help.log().find("Examples:"), help.log().find("--state-dir"));
  Program bad({"--lisen", "x"}, folder_ / "bad");
  EXPECT_EQ(bad.Wait(), 64);
}

}  // namespace
}  // namespace epochd::server
