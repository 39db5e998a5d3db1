// SPDX-License-Identifier: Apache-2.0
//
// AgentService.FetchFile: an uploaded file, chunk by chunk.
#pragma once

#include <cstdint>

#include "epochd/v1/agent.pb.h"
#include "server/api/backend.h"
#include "server/api/server_stream.h"

namespace epochd::api {

class FetchFile final : public ServerStream<v1::FetchFileResponse> {
 public:
  FetchFile(Backend& backend, const v1::FetchFileRequest& request);

  void Begin() override { Wake(); }

 private:
  Step Produce(absl::Status& end_status) override;
  void Unsubscribe() override {}

  const events::FileStore& files_;
  const std::string sha256_;
  int64_t offset_ = 0;
};

}  // namespace epochd::api
