// SPDX-License-Identifier: Apache-2.0
//
// EventSink: where a run tells what happens. The engine does not know who
// listens; the trainer program writes lines for its agent, tests collect.
// Called from the training thread only.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace epochd::engine {

using Json = nlohmann::ordered_json;

class EventSink {
 public:
  virtual ~EventSink() = default;

  // Tells of one event; `fields` is an object. Returns a position that grows
  // with each event, for IsRecorded().
  virtual int64_t Emit(std::string_view type, Json fields) = 0;
  // Whether the event at this position is known for certain to whoever must
  // not lose it. Always true where nobody keeps records.
  virtual bool IsRecorded(int64_t position) const = 0;

  // severity: "info", "warning" or "error".
  void Notice(std::string_view severity, std::string text) {
    Emit("notice", {{"severity", severity}, {"text", std::move(text)}});
  }
};

// Forgets everything; for a run that nobody watches.
class NullSink : public EventSink {
 public:
  int64_t Emit(std::string_view, Json) override { return 0; }
  bool IsRecorded(int64_t) const override { return true; }
};

}  // namespace epochd::engine
