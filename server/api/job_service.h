// SPDX-License-Identifier: Apache-2.0
//
// JobService on the controller: converts, calls, answers. Any thread.
#pragma once

#include "epochd/v1/job.grpc.pb.h"
#include "server/api/backend.h"

namespace epochd::api {

class JobService final : public v1::JobService::CallbackService {
 public:
  // `backend` outlives it.
  explicit JobService(Backend& backend) : backend_(backend) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const v1::SubmitJobRequest* request,
                                      v1::Job* response) override;
  grpc::ServerUnaryReactor* ValidateJob(
      grpc::CallbackServerContext* context,
      const v1::ValidateJobRequest* request,
      v1::ValidateJobResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request,
                                   v1::Job* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::Job* response) override;
  grpc::ServerUnaryReactor* DeleteJob(grpc::CallbackServerContext* context,
                                      const v1::DeleteJobRequest* request,
                                      v1::DeleteJobResponse* response) override;
  grpc::ServerWriteReactor<v1::Event>* WatchEvents(
      grpc::CallbackServerContext* context,
      const v1::WatchEventsRequest* request) override;
  grpc::ServerUnaryReactor* ListEvents(
      grpc::CallbackServerContext* context,
      const v1::ListEventsRequest* request,
      v1::ListEventsResponse* response) override;
  grpc::ServerWriteReactor<v1::LogChunk>* ReadLogs(
      grpc::CallbackServerContext* context,
      const v1::ReadLogsRequest* request) override;
  grpc::ServerUnaryReactor* ListCheckpoints(
      grpc::CallbackServerContext* context,
      const v1::ListCheckpointsRequest* request,
      v1::ListCheckpointsResponse* response) override;
  grpc::ServerReadReactor<v1::UploadFileRequest>* UploadFile(
      grpc::CallbackServerContext* context,
      v1::UploadFileResponse* response) override;

 private:
  void Submit(grpc::ServerUnaryReactor* reactor,
              const v1::SubmitJobRequest& request, v1::Job* response);
  absl::Status CheckUploaded(const v1::JobSpec& spec) const;

  Backend& backend_;
};

}  // namespace epochd::api
