// SPDX-License-Identifier: Apache-2.0
//
// An agent that behaves, over the real wire, one step at a time: the test says
// when it looks and what its ranks do.
#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "epochd/v1/agent.grpc.pb.h"

namespace epochd::api {

// How long a test waits for what has to come.
inline constexpr absl::Duration kPatience = absl::Minutes(1);

class FakeAgent {
 public:
  FakeAgent(const std::shared_ptr<grpc::Channel>& channel, std::string worker,
            std::string incarnation = "i1");

  v1::RegisterRequest MakeRegisterRequest(int num_cpus) const;
  absl::Status Register(int num_cpus, const std::string& catalogue_json = "");
  // Reports what is observed and takes in what is desired.
  absl::Status Heartbeat();
  // Heartbeats until something of `job` is desired; its attempt's name.
  std::string WaitForAttempt(const std::string& job);
  // Heartbeats until the attempt is to be ended or is not desired any more.
  void WaitForStop(const std::string& attempt);

  void Run(const std::string& attempt);
  void End(const std::string& attempt, v1::AttemptReason reason,
           const std::string& message = "");
  // Hands in lines of rank 0; a newline is added.
  void Report(const std::string& attempt, const std::string& line);
  absl::Status ReportLog(const std::string& attempt, int64_t offset,
                         const std::string& data);

  v1::AgentService::Stub& stub() { return *stub_; }
  const v1::DesiredState& desired() const { return desired_; }

 private:
  const v1::DesiredAttempt* Find(const std::string& attempt) const;

  const std::string worker_;
  const std::string incarnation_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  int64_t sequence_ = 0;
  v1::DesiredState desired_;
  std::map<std::string, v1::ObservedAttempt> observed_;
  std::map<std::string, int64_t> offsets_;
};

}  // namespace epochd::api
