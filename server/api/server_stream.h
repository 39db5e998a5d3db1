// SPDX-License-Identifier: Apache-2.0
//
// A server-streaming call: StreamPump on gRPC's callback API. A concrete stream
// implements Produce (fill message()), and Unsubscribe (let go of what wakes
// it; afterwards nothing calls it any more).
//
//   return Serve<WatchEvents>(streams, request, ...);   // from the handler
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "proto/wire/status.h"
#include "server/api/stream_pump.h"
#include "server/api/work_pool.h"

namespace epochd::api {

// All streams that are open, so that a stopping server can end them and there
// are never too many. Outlives the gRPC server.
class OpenStreams {
 public:
  // `changed` may be empty; it gets +1 and -1, on any thread.
  explicit OpenStreams(std::function<void(int)> changed, int max_streams)
      : changed_(std::move(changed)),
        max_streams_(static_cast<size_t>(max_streams)) {}

  // Ends a stream beyond the limit at once, with RESOURCE_EXHAUSTED.
  void Add(StreamPump* stream);
  void Remove(StreamPump* stream);
  // Ends every stream, and at once those that come later.
  void EndAll(const absl::Status& status);

 private:
  const std::function<void(int)> changed_;
  const size_t max_streams_;
  mutable absl::Mutex mutex_;
  std::set<StreamPump*> streams_ ABSL_GUARDED_BY(mutex_);
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);
};

template <typename Message>
class ServerStream : public StreamPump,
                     public grpc::ServerWriteReactor<Message> {
 public:
  // Called once by Serve: subscribe, then Wake or EndWith.
  virtual void Begin() = 0;

  void OnWriteDone(bool ok) final { OnWritten(ok); }
  void OnCancel() final { OnCancelled(); }
  void OnDone() final {
    open_streams_.Remove(this);
    Unsubscribe();
    self_.reset();
  }

  // Keeps the stream alive until gRPC is done with it.
  void Hold(std::shared_ptr<ServerStream> self) {
    self_ = std::move(self);
    open_streams_.Add(this);
  }

 protected:
  ServerStream(WorkPool& pool, OpenStreams& open_streams)
      : StreamPump(pool), open_streams_(open_streams) {}

  virtual void Unsubscribe() = 0;
  Message& message() { return message_; }

 private:
  void StartWrite() final {
    grpc::ServerWriteReactor<Message>::StartWrite(&message_);
  }
  void StartFinish(const absl::Status& status) final {
    this->Finish(wire::ToGrpc(status));
  }

  OpenStreams& open_streams_;
  Message message_;
  std::shared_ptr<ServerStream> self_;
};

template <typename Stream, typename... Arguments>
Stream* Serve(Arguments&&... arguments) {
  auto stream = std::make_shared<Stream>(std::forward<Arguments>(arguments)...);
  stream->Hold(stream);
  stream->Begin();
  return stream.get();
}

}  // namespace epochd::api
