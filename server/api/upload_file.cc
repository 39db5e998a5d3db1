// SPDX-License-Identifier: Apache-2.0
#include "server/api/upload_file.h"

#include <utility>

namespace epochd::api {

UploadFile* UploadFile::Serve(Backend& backend,
                              v1::UploadFileResponse* response) {
  auto upload = std::make_shared<UploadFile>(backend, response);
  upload->self_ = upload;
  upload->StartRead(&upload->request_);
  return upload.get();
}

void UploadFile::OnReadDone(bool ok) {
  // One read at a time, so at most one task of this upload exists.
  backend_.pool.Post([self = shared_from_this(), ok] {
    const absl::Status status = ok ? self->TakeIn() : self->Complete();
    if (ok && status.ok()) {
      self->StartRead(&self->request_);
    } else {
      self->upload_.reset();
      self->Finish(wire::ToGrpc(status));
    }
  });
}

absl::Status UploadFile::TakeIn() {
  if (request_.has_sha256()) {
    if (upload_ != nullptr) {
      return wire::BadRequest({{"sha256", "given twice, once is accepted"}});
    }
    sha256_ = request_.sha256();
    auto upload = backend_.files.Begin(sha256_);
    if (!upload.ok()) return upload.status();
    upload_ = *std::move(upload);
    return absl::OkStatus();
  }
  if (upload_ == nullptr) {
    return wire::BadRequest(
        {{"sha256", "missing, the first message holds the hash"}});
  }
  return upload_->Append(request_.data());
}

absl::Status UploadFile::Complete() {
  if (upload_ == nullptr) {
    return wire::BadRequest(
        {{"sha256", "missing, the first message holds the hash"}});
  }
  const auto size = upload_->Finish();
  if (!size.ok()) return size.status();
  response_->set_sha256(sha256_);
  response_->set_size_bytes(*size);
  return absl::OkStatus();
}

}  // namespace epochd::api
