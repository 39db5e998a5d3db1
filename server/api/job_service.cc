// SPDX-License-Identifier: Apache-2.0
#include "server/api/job_service.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "catalogue/catalogue.h"
#include "server/api/convert_job.h"
#include "server/api/field_rules.h"
#include "server/api/job_list.h"
#include "server/api/names.h"
#include "server/api/page_token.h"
#include "server/api/read_logs.h"
#include "server/api/spec_check.h"
#include "server/api/upload_file.h"
#include "server/api/watch_events.h"

namespace epochd::api {
namespace {

// Well below what clients take in one message.
constexpr size_t kMaxPageBytes = 2 << 20;

absl::Status CheckRequestId(const std::string& request_id) {
  FieldRules rules;
  for (const char c : request_id) {
    if (c > ' ' && c < 127 && request_id.size() <= 128) continue;
    rules.Add("request_id", absl::StrCat("bad id ", Quote(request_id),
                                         ", a UUID is accepted"));
    return wire::BadRequest(rules.violations());
  }
  return absl::OkStatus();
}

absl::Status BadSpec(const std::vector<wire::FieldViolation>& violations) {
  return wire::WithReason(wire::BadRequest(violations), "SPEC_INVALID");
}

absl::Status CheckAfter(int64_t after) {
  if (after >= 0) return absl::OkStatus();
  return wire::BadRequest(
      {{"after",
        absl::StrCat("'", after, "' is negative, 0 and more is accepted")}});
}

}  // namespace

grpc::ServerUnaryReactor* JobService::SubmitJob(
    grpc::CallbackServerContext* context, const v1::SubmitJobRequest* request,
    v1::Job* response) {
  auto* reactor = context->DefaultReactor();
  const absl::Status posted =
      backend_.pool.TryPost([this, reactor, request, response] {
        Submit(reactor, *request, response);
      });
  if (!posted.ok()) reactor->Finish(wire::ToGrpc(posted));
  return reactor;
}

void JobService::Submit(grpc::ServerUnaryReactor* reactor,
                        const v1::SubmitJobRequest& request,
                        v1::Job* response) {
  absl::Status status = CheckRequestId(request.request_id());
  CheckedSpec checked;
  if (status.ok()) {
    checked = CheckSpec(request.spec(), backend_.catalogues.Current().get(),
                        backend_.files.options().max_file_bytes);
    if (!checked.violations.empty()) status = BadSpec(checked.violations);
  }
  if (status.ok()) status = CheckUploaded(request.spec());
  if (!status.ok()) {
    reactor->Finish(wire::ToGrpc(status));
    return;
  }
  auto spec = std::make_shared<const job::JobSpec>(std::move(checked.spec));
  if (!request.validate_only()) {
    backend_.controller.Submit(std::move(spec), request.request_id(),
                               AnswerWith(reactor, response));
    return;
  }
  backend_.controller.Hint(
      spec, [reactor, response, spec](absl::StatusOr<std::string> hint) {
        if (hint.ok()) {
          *response->mutable_spec() = ToProto(*spec);
          response->set_state(v1::JOB_STATE_QUEUED);
          response->set_reason(v1::JOB_REASON_SUBMITTED);
          response->set_message(*hint);
        }
        reactor->Finish(wire::ToGrpc(hint.status()));
      });
}

absl::Status JobService::CheckUploaded(const v1::JobSpec& spec) const {
  FieldRules rules;
  for (int i = 0; i < spec.files_size(); ++i) {
    const v1::FileRef& file = spec.files(i);
    const auto size = backend_.files.Use(file.sha256());
    const std::string here = catalogue::AppendIndex("files", i);
    if (absl::IsNotFound(size.status())) {
      rules.Add(here, absl::StrCat("content of ", Quote(file.path()),
                                   " is not here, upload it first"));
    } else if (!size.ok()) {
      return size.status();
    } else if (*size != file.size_bytes()) {
      rules.Add(
          here,
          absl::StrCat("size '", file.size_bytes(), "' of ", Quote(file.path()),
                       " is not the upload's, '", *size, "' is accepted"));
    }
  }
  if (rules.violations().empty()) return absl::OkStatus();
  return wire::WithReason(wire::BadRequest(rules.violations()), "FILE_MISSING");
}

grpc::ServerUnaryReactor* JobService::ValidateJob(
    grpc::CallbackServerContext* context, const v1::ValidateJobRequest* request,
    v1::ValidateJobResponse* response) {
  auto* reactor = context->DefaultReactor();
  const absl::Status posted =
      backend_.pool.TryPost([this, reactor, request, response] {
        CheckedSpec checked =
            CheckSpec(request->spec(), backend_.catalogues.Current().get(),
                      backend_.files.options().max_file_bytes);
        if (!checked.violations.empty()) {
          for (const wire::FieldViolation& violation : checked.violations) {
            auto* out = response->add_violations();
            out->set_field(violation.field);
            out->set_description(violation.description);
          }
          reactor->Finish(grpc::Status::OK);
          return;
        }
        backend_.controller.Hint(
            std::make_shared<const job::JobSpec>(std::move(checked.spec)),
            [reactor, response](absl::StatusOr<std::string> hint) {
              if (hint.ok()) response->set_scheduling_hint(*hint);
              reactor->Finish(wire::ToGrpc(hint.status()));
            });
      });
  if (!posted.ok()) reactor->Finish(wire::ToGrpc(posted));
  return reactor;
}

grpc::ServerUnaryReactor* JobService::GetJob(
    grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
    v1::Job* response) {
  return AnswerOnPool(context, backend_.pool, [this, request, response] {
    const auto id = ParseJobName(request->name());
    if (!id.ok()) return id.status();
    const auto view = backend_.controller.Get(*id);
    if (view.ok()) *response = ToProto(*view);
    return view.status();
  });
}

grpc::ServerUnaryReactor* JobService::ListJobs(
    grpc::CallbackServerContext* context, const v1::ListJobsRequest* request,
    v1::ListJobsResponse* response) {
  return AnswerOnPool(context, backend_.pool, [this, request, response] {
    return ListJobPage(backend_.controller, *request, *response);
  });
}

grpc::ServerUnaryReactor* JobService::CancelJob(
    grpc::CallbackServerContext* context, const v1::CancelJobRequest* request,
    v1::Job* response) {
  auto* reactor = context->DefaultReactor();
  const auto id = ParseJobName(request->name());
  if (!id.ok()) {
    reactor->Finish(wire::ToGrpc(id.status()));
    return reactor;
  }
  backend_.controller.Cancel(*id, request->etag(),
                             AnswerWith(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* JobService::DeleteJob(
    grpc::CallbackServerContext* context, const v1::DeleteJobRequest* request,
    v1::DeleteJobResponse*) {
  auto* reactor = context->DefaultReactor();
  const auto id = ParseJobName(request->name());
  const absl::Status status =
      id.ok() ? CheckRequestId(request->request_id()) : id.status();
  if (!status.ok()) {
    reactor->Finish(wire::ToGrpc(status));
    return reactor;
  }
  backend_.controller.Delete(
      *id, request->request_id(),
      [this, reactor, id = *id](absl::Status deleted) {
        if (!deleted.ok()) {
          reactor->Finish(wire::ToGrpc(deleted));
          return;
        }
        backend_.pool.Post([this, reactor, id] {
          reactor->Finish(wire::ToGrpc(backend_.logs.Delete(id)));
        });
      });
  return reactor;
}

grpc::ServerWriteReactor<v1::Event>* JobService::WatchEvents(
    grpc::CallbackServerContext*, const v1::WatchEventsRequest* request) {
  return Serve<class WatchEvents>(backend_, *request);
}

grpc::ServerUnaryReactor* JobService::ListEvents(
    grpc::CallbackServerContext* context, const v1::ListEventsRequest* request,
    v1::ListEventsResponse* response) {
  return AnswerOnPool(context, backend_.pool, [this, request, response] {
    const auto id = ParseJobName(request->name());
    if (!id.ok()) return id.status();
    const auto size = PageSize(request->page_size(), 500, 5000);
    if (!size.ok()) return size.status();
    const absl::Status after = CheckAfter(request->after());
    if (!after.ok()) return after;
    const auto page =
        backend_.controller.ReadEvents(*id, request->after(), *size);
    if (!page.ok()) return page.status();
    size_t num_bytes = 0;
    int64_t last = request->after();
    for (const auto& event : page->events) {
      v1::Event converted = ToProto(*id, *event);
      num_bytes += converted.ByteSizeLong();
      if (num_bytes > kMaxPageBytes && response->events_size() > 0) break;
      last = event->sequence;
      *response->add_events() = std::move(converted);
    }
    if (last < page->last_sequence) response->set_next_after(last);
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<v1::LogChunk>* JobService::ReadLogs(
    grpc::CallbackServerContext*, const v1::ReadLogsRequest* request) {
  return Serve<class ReadLogs>(backend_, *request);
}

grpc::ServerUnaryReactor* JobService::ListCheckpoints(
    grpc::CallbackServerContext* context,
    const v1::ListCheckpointsRequest* request,
    v1::ListCheckpointsResponse* response) {
  return AnswerOnPool(context, backend_.pool, [this, request, response] {
    const auto id = ParseJobName(request->name());
    if (!id.ok()) return id.status();
    const auto checkpoints =
        backend_.controller.ListCheckpoints(*id, request->show_removed());
    if (!checkpoints.ok()) return checkpoints.status();
    for (const job::Checkpoint& checkpoint : *checkpoints) {
      *response->add_checkpoints() = ToProto(*id, checkpoint);
    }
    return absl::OkStatus();
  });
}

grpc::ServerReadReactor<v1::UploadFileRequest>* JobService::UploadFile(
    grpc::CallbackServerContext*, v1::UploadFileResponse* response) {
  return api::UploadFile::Serve(backend_, response);
}

}  // namespace epochd::api
