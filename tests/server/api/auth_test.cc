// SPDX-License-Identifier: Apache-2.0
//
// Every method that reflection lists is refused without the token: a new one
// that was forgotten would fail here.
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/wire/status.h"
#include "tests/server/api/service_fixture.h"

namespace epochd::api {
namespace {

std::vector<std::string> AllMethods() {
  std::vector<std::string> methods;
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  for (const char* name : {v1::JobService::service_full_name(),
                           v1::WorkerService::service_full_name(),
                           v1::ServerService::service_full_name(),
                           v1::AgentService::service_full_name()}) {
    const auto* service = pool->FindServiceByName(name);
    EXPECT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i) {
      methods.push_back("/" + service->full_name() + "/" +
                        service->method(i)->name());
    }
  }
  methods.push_back(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  return methods;
}

// Calls with an empty message and returns the status.
grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel,
                  const std::string& method) {
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, method, &queue);
  grpc::Status status;
  grpc::ByteBuffer empty(nullptr, 0);
  int num_events = 0;
  const auto next = [&] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    ++num_events;
  };
  call->StartCall(nullptr);
  next();
  call->WriteLast(empty, grpc::WriteOptions(), nullptr);
  next();
  // The status comes after the answer, if there is one, was read.
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  next();
  call->Finish(&status, nullptr);
  next();
  EXPECT_EQ(num_events, 4);
  queue.Shutdown();
  return status;
}

class AuthTest : public ServiceTest {};

TEST_F(AuthTest, EveryMethodNeedsTheToken) {
  const auto methods = AllMethods();
  EXPECT_GE(methods.size(), 23u);
  const auto channel = Connect(/*with_token=*/false);
  for (const std::string& method : methods) {
    EXPECT_EQ(Call(channel, method).error_code(),
              grpc::StatusCode::UNAUTHENTICATED)
        << method;
  }
}

TEST_F(AuthTest, AMethodThatIsNotThereIsNotToldApartWithoutTheToken) {
  EXPECT_EQ(Call(Connect(false), "/epochd.v1.JobService/Nothing").error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Call(Connect(), "/epochd.v1.JobService/Nothing").error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(AuthTest, HealthAnswersWithoutTheToken) {
  EXPECT_TRUE(Call(Connect(false), "/grpc.health.v1.Health/Check").ok());
}

TEST_F(AuthTest, WithTheTokenUnaryMethodsAreReached) {
  EXPECT_TRUE(Call(Connect(), "/epochd.v1.ServerService/GetServerInfo").ok());
  EXPECT_EQ(Call(Connect(), "/epochd.v1.JobService/GetJob").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace epochd::api
