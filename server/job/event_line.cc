// SPDX-License-Identifier: Apache-2.0
#include "server/job/event_line.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "worker/link/event_line.h"

namespace epochd::job {
namespace {

using nlohmann::json;

constexpr size_t kQuotedBytes = 64;
// Keeps a job's row and an event small whatever a trainer writes.
constexpr size_t kMaxMapEntries = 1000;

// Never looks into arrays and objects: printing and copying them recurses, and
// a line may nest them deeper than the stack is.
std::string Quoted(const json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kQuotedBytes) text = text.substr(0, kQuotedBytes) + "...";
  return text;
}

std::optional<double> AsNumber(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

// Reads keys of one object. The first wrong one is kept; an absent or null key
// leaves its target as it was.
class Reader {
 public:
  Reader(const json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  void Read(const char* key, int64_t& target) {
    const json* value = Find(key);
    if (value == nullptr) return;
    if (value->is_number_unsigned() &&
        value->get<uint64_t>() >
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Fail(key, *value, "a whole number below 2^63");
    }
    if (!value->is_number_integer()) {
      return Fail(key, *value, "a whole number");
    }
    target = value->get<int64_t>();
  }

  void Read(const char* key, int32_t& target) {
    int64_t wide = target;
    Read(key, wide);
    if (wide < 0 || wide > std::numeric_limits<int32_t>::max()) {
      return Fail(key, json(wide), "a whole number from 0 to 2^31 - 1");
    }
    target = static_cast<int32_t>(wide);
  }

  void Read(const char* key, double& target) {
    const json* value = Find(key);
    if (value == nullptr) return;
    const auto number = AsNumber(*value);
    if (!number) return Fail(key, *value, "a number");
    target = *number;
  }

  void Read(const char* key, bool& target) {
    const json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_boolean()) return Fail(key, *value, "true or false");
    target = value->get<bool>();
  }

  void Read(const char* key, std::string& target) {
    const json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_string()) return Fail(key, *value, "a text");
    target = value->get_ref<const std::string&>();
  }

  void Read(const char* key, std::map<std::string, double>& target) {
    const json* value = Find(key);
    if (value == nullptr) return;
    if (!IsSmallObject(key, *value)) return;
    for (const auto& [name, entry] : value->items()) {
      const auto number = AsNumber(entry);
      if (!number)
        return Fail(fmt::format("{}.{}", key, name), entry, "a number");
      target[name] = *number;
    }
  }

  void Read(const char* key, std::map<std::string, std::string>& target) {
    const json* value = Find(key);
    if (value == nullptr) return;
    if (!IsSmallObject(key, *value)) return;
    for (const auto& [name, entry] : value->items()) {
      if (!entry.is_string()) {
        return Fail(fmt::format("{}.{}", key, name), entry, "a text");
      }
      target[name] = entry.get_ref<const std::string&>();
    }
  }

  template <typename Enum>
  void ReadChoice(const char* key, Enum& target,
                  std::initializer_list<std::pair<const char*, Enum>> choices) {
    std::string text;
    Read(key, text);
    std::string known;
    for (const auto& [name, value] : choices) {
      if (text == name) {
        target = value;
        return;
      }
      if (!known.empty()) known += ", ";
      known += name;
    }
    static const json& absent = *new json();
    const json* value = Find(key);
    Fail(key, value != nullptr ? *value : absent,
         fmt::format("one of {}", known));
  }

  const json* Find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }

  void Fail(std::string_view key, const json& value,
            std::string_view accepted) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(fmt::format(
        "{}.{}: {} is not {}", where_, key, Quoted(value), accepted));
  }

  void Require(const char* key) {
    if (Find(key) == nullptr) Fail(key, json(), "a text");
  }

  const absl::Status& status() const { return status_; }

 private:
  bool IsSmallObject(const char* key, const json& value) {
    if (!value.is_object()) {
      Fail(key, value, "an object");
      return false;
    }
    if (value.size() <= kMaxMapEntries) return true;
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(
          fmt::format("{}.{}: has {} entries, at most {} are accepted", where_,
                      key, value.size(), kMaxMapEntries));
    }
    return false;
  }

  const json& object_;
  std::string where_;
  absl::Status status_;
};

// ---- one function for each type of line -----------------------------------

void ReadBody(Reader& in, TrainingBegan& out) {
  in.Read("total_epochs", out.total_epochs);
  in.Read("initial_epoch", out.initial_epoch);
  in.Read("initial_batch", out.initial_batch);
  in.Read("train_batches", out.train_batches);
  in.Read("val_batches", out.val_batches);
  in.Read("train_samples", out.train_samples);
  in.Read("val_samples", out.val_samples);
  in.Read("parameters", out.parameters);
  in.Read("resumed_from", out.resumed_from);
}

void ReadBody(Reader& in, FirstStep& out) { in.Read("step", out.step); }

void ReadBody(Reader& in, EpochStarted& out) { in.Read("epoch", out.epoch); }

void ReadBody(Reader& in, EpochFinished& out) {
  in.Read("epoch", out.epoch);
  in.Read("step", out.step);
  in.Read("metrics", out.metrics);
  in.Read("learning_rates", out.learning_rates);
  double seconds = 0;
  in.Read("seconds", seconds);
  if (std::isfinite(seconds)) out.elapsed = absl::Seconds(seconds);
  in.Read("samples_per_second", out.samples_per_second);
  double waited = 0;
  in.Read("data_wait_seconds", waited);
  if (std::isfinite(waited)) out.data_wait = absl::Seconds(waited);
}

void ReadBody(Reader& in, MetricsLogged& out) {
  in.Read("epoch", out.epoch);
  in.Read("step", out.step);
  in.Read("metrics", out.metrics);
}

void ReadBody(Reader& in, CheckpointSaved& out) {
  Checkpoint& checkpoint = out.checkpoint;
  in.Require("path");
  in.Read("path", checkpoint.path);
  in.Read("epoch", checkpoint.epoch);
  in.Read("step", checkpoint.step);
  in.Read("batch", checkpoint.batch);
  in.Read("best", checkpoint.best);
  in.Read("bytes", checkpoint.size_bytes);
  in.Read("manifest_sha256", checkpoint.manifest_sha256);
  in.Read("metrics", checkpoint.metrics);
  in.Read("world_size", checkpoint.world_size);
  if (!checkpoint.path.empty() && checkpoint.path[0] != '/') {
    in.Fail("path", json(checkpoint.path), "an absolute path");
  }
}

void ReadBody(Reader& in, CheckpointRemovedLine& out) {
  in.Require("path");
  in.Read("path", out.path);
}

void ReadBody(Reader& in, TrainingEnded& out) {
  using Outcome = TrainingEnded::Outcome;
  in.ReadChoice("outcome", out.outcome,
                {{"completed", Outcome::kCompleted},
                 {"stopped", Outcome::kStopped},
                 {"failed", Outcome::kFailed}});
  in.Read("message", out.message);
  in.Read("epochs", out.epochs);
  in.Read("outputs", out.outputs);
  const json* best = in.Find("best");
  if (best == nullptr) return;
  if (!best->is_object()) return in.Fail("best", *best, "an object");
  Reader inner(*best, "training_ended.best");
  BestMetric metric;
  inner.Read("name", metric.name);
  inner.Read("value", metric.value);
  inner.Read("epoch", metric.epoch);
  if (!inner.status().ok()) return in.Fail("best", *best, "a best metric");
  out.best = std::move(metric);
}

void ReadBody(Reader& in, Notice& out) {
  using Severity = Notice::Severity;
  in.ReadChoice("severity", out.severity,
                {{"info", Severity::kInfo},
                 {"warning", Severity::kWarning},
                 {"error", Severity::kError}});
  in.Read("text", out.text);
  in.Read("rank", out.rank);
}

void ReadBody(Reader& in, Progress& out) {
  in.Read("epoch", out.epoch);
  in.Read("total_epochs", out.total_epochs);
  in.Read("phase", out.phase);
  in.Read("batch", out.batch);
  in.Read("batches", out.batches);
  in.Read("step", out.step);
  in.Read("loss", out.loss);
  in.Read("samples_per_second", out.samples_per_second);
}

template <typename Body>
void Fill(Reader& in, ParsedLine& line) {
  ReadBody(in, line.body.emplace<Body>());
}

void FillBody(std::string_view type, Reader& in, ParsedLine& line) {
  using Filler = void (*)(Reader&, ParsedLine&);
  static constexpr std::pair<std::string_view, Filler> kFillers[] = {
      {link::kTrainingBegan, &Fill<TrainingBegan>},
      {link::kFirstStep, &Fill<FirstStep>},
      {link::kEpochStarted, &Fill<EpochStarted>},
      {link::kEpochFinished, &Fill<EpochFinished>},
      {link::kMetrics, &Fill<MetricsLogged>},
      {link::kCheckpointSaved, &Fill<CheckpointSaved>},
      {link::kCheckpointRemoved, &Fill<CheckpointRemovedLine>},
      {link::kTrainingEnded, &Fill<TrainingEnded>},
      {link::kNotice, &Fill<Notice>},
      {link::kProgress, &Fill<Progress>},
  };
  for (const auto& [name, fill] : kFillers) {
    if (name == type) return fill(in, line);
  }
}

}  // namespace

absl::StatusOr<ParsedLine> ParseEventLine(std::string_view line) {
  if (line.size() > link::kMaxLineBytes + 1) {
    return absl::InvalidArgumentError(
        fmt::format("event line: has {} bytes, at most {} are accepted",
                    line.size(), link::kMaxLineBytes));
  }
  const json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return absl::InvalidArgumentError("event line: is not a JSON object");
  }
  const auto type = object.find("type");
  if (type == object.end() || !type->is_string()) {
    return absl::InvalidArgumentError("event line.type: is not a text");
  }
  const auto& name = type->get_ref<const std::string&>();
  Reader reader(object, name);
  ParsedLine parsed;
  double time = std::numeric_limits<double>::quiet_NaN();
  reader.Read("time", time);
  // Beyond this (year 9999) no display knows what to do with it.
  if (time >= 0 && time < 253402300800.0) {
    parsed.time = absl::UnixEpoch() + absl::Seconds(time);
  }
  reader.Read("rank", parsed.rank);
  FillBody(name, reader, parsed);
  if (!reader.status().ok()) return reader.status();
  return parsed;
}

}  // namespace epochd::job
