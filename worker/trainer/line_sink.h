// SPDX-License-Identifier: Apache-2.0
//
// LineSink: events of the engine as lines of events.jsonl. Emit() from the
// training thread; SetRecorded() from any.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "worker/engine/hook/event_sink.h"
#include "worker/link/event_writer.h"

namespace epochd::trainer {

class LineSink : public engine::EventSink {
 public:
  // `has_agent`: somebody tells what is recorded; else all is at once.
  LineSink(link::EventWriter& writer, bool has_agent)
      : writer_(writer), has_agent_(has_agent) {}

  int64_t Emit(std::string_view type, engine::Json fields) override {
    engine::Json line = {{"type", type}};
    line.update(fields);
    return writer_.Append(std::move(line));
  }
  bool IsRecorded(int64_t position) const override {
    return !has_agent_ || recorded_ >= position;
  }
  // Lines before this offset are recorded.
  void SetRecorded(int64_t offset) { recorded_ = offset; }

 private:
  link::EventWriter& writer_;
  const bool has_agent_;
  std::atomic<int64_t> recorded_ = 0;
};

}  // namespace epochd::trainer
