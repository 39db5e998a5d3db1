// SPDX-License-Identifier: Apache-2.0
#include "server/api/fetch_file.h"

#include <utility>

namespace epochd::api {
namespace {

constexpr int64_t kFileChunkBytes = 256 << 10;

}  // namespace

FetchFile::FetchFile(Backend& backend, const v1::FetchFileRequest& request)
    : ServerStream(backend.pool, backend.streams),
      files_(backend.files),
      sha256_(request.sha256()) {}

StreamPump::Step FetchFile::Produce(absl::Status& end_status) {
  auto data = files_.Read(sha256_, offset_, kFileChunkBytes);
  if (!data.ok() || data->empty()) {
    end_status = data.status();
    return Step::kEnd;
  }
  offset_ += static_cast<int64_t>(data->size());
  message().set_data(*std::move(data));
  return Step::kWrite;
}

}  // namespace epochd::api
