// SPDX-License-Identifier: Apache-2.0
//
// JobService.UploadFile: the hash, then the content. Read by read, each taken
// in on the pool, since it goes to the disk. Lives by shared_ptr: gRPC holds
// one until OnDone, the posted task another.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "epochd/v1/job.pb.h"
#include "server/api/backend.h"

namespace epochd::api {

class UploadFile final : public grpc::ServerReadReactor<v1::UploadFileRequest>,
                         public std::enable_shared_from_this<UploadFile> {
 public:
  static UploadFile* Serve(Backend& backend, v1::UploadFileResponse* response);

  UploadFile(Backend& backend, v1::UploadFileResponse* response)
      : backend_(backend), response_(response) {}

  void OnReadDone(bool ok) override;
  void OnDone() override { self_.reset(); }

 private:
  absl::Status TakeIn();
  absl::Status Complete();

  Backend& backend_;
  v1::UploadFileResponse* const response_;
  v1::UploadFileRequest request_;
  std::string sha256_;
  std::unique_ptr<events::FileStore::Upload> upload_;
  std::shared_ptr<UploadFile> self_;
};

}  // namespace epochd::api
