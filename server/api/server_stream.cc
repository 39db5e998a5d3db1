// SPDX-License-Identifier: Apache-2.0
#include "server/api/server_stream.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace epochd::api {
namespace {

// Streams end when jobs do, which takes longer than a call.
constexpr absl::Duration kRetryStream = absl::Seconds(5);

}  // namespace

void OpenStreams::Add(StreamPump* stream) {
  if (changed_) changed_(+1);
  absl::MutexLock lock(&mutex_);
  streams_.insert(stream);
  if (!ended_.ok()) {
    stream->EndWith(ended_);
  } else if (streams_.size() > max_streams_) {
    stream->EndWith(wire::WithRetryDelay(
        absl::ResourceExhaustedError(absl::StrCat(
            "streams: ", max_streams_, " are open, no more are accepted now")),
        kRetryStream));
  }
}

void OpenStreams::Remove(StreamPump* stream) {
  if (changed_) changed_(-1);
  absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
}

void OpenStreams::EndAll(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  ended_ = status;
  for (StreamPump* stream : streams_) stream->EndWith(status);
}

}  // namespace epochd::api
