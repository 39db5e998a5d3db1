// SPDX-License-Identifier: Apache-2.0
#include "server/api/server_stream.h"

namespace epochd::api {

void OpenStreams::Add(StreamPump* stream) {
  if (changed_) changed_(+1);
  absl::MutexLock lock(&mutex_);
  streams_.insert(stream);
  if (!ended_.ok()) stream->EndWith(ended_);
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
