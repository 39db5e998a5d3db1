// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/words.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "client/terminal/human.h"
#include "program/logging.h"
#include "proto/wire/time.h"

namespace epochd::epochctl {
namespace {

using terminal::Color;

// An unknown number of a newer server has no name.
std::string WithoutPrefix(const std::string& name, std::string_view prefix,
                          int number) {
  if (!name.starts_with(prefix)) return "unknown-" + std::to_string(number);
  return name.substr(prefix.size());
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string Prefixed(const std::string& id, const std::string& prefix) {
  return id.starts_with(prefix) ? id : prefix + id;
}

}  // namespace

std::string Safe(const std::string& text) {
  return program::EscapeControls(text);
}

std::string OneLine(const std::string& text) {
  std::string line;
  for (const char c : text.substr(0, text.find_last_not_of('\n') + 1)) {
    if (c == '\n') {
      line += "; ";
    } else {
      line += c;
    }
  }
  return Safe(line);
}

std::string Word(v1::JobState state) {
  return WithoutPrefix(v1::JobState_Name(state), "JOB_STATE_", state);
}
std::string Word(v1::JobReason reason) {
  return Lower(
      WithoutPrefix(v1::JobReason_Name(reason), "JOB_REASON_", reason));
}
std::string Word(v1::AttemptState state) {
  return Lower(
      WithoutPrefix(v1::AttemptState_Name(state), "ATTEMPT_STATE_", state));
}
std::string Word(v1::AttemptReason reason) {
  return Lower(
      WithoutPrefix(v1::AttemptReason_Name(reason), "ATTEMPT_REASON_", reason));
}
std::string Word(v1::WorkerState state) {
  return WithoutPrefix(v1::WorkerState_Name(state), "WORKER_STATE_", state);
}

terminal::Cell StateCell(v1::JobState state) {
  Color color = Color::kNone;
  if (state == v1::JOB_STATE_SUCCEEDED) color = Color::kGreen;
  if (state == v1::JOB_STATE_RUNNING) color = Color::kCyan;
  if (state == v1::JOB_STATE_FAILED) color = Color::kRed;
  if (state == v1::JOB_STATE_CANCELLED || state == v1::JOB_STATE_STOPPING) {
    color = Color::kYellow;
  }
  return {Word(state), color};
}

terminal::Cell StateCell(v1::WorkerState state) {
  Color color = Color::kYellow;
  if (state == v1::WORKER_STATE_READY) color = Color::kGreen;
  if (state == v1::WORKER_STATE_LOST || state == v1::WORKER_STATE_NOT_READY) {
    color = Color::kRed;
  }
  return {Word(state), color};
}

std::string JobName(const std::string& id) { return Prefixed(id, "jobs/"); }
std::string WorkerName(const std::string& id) {
  return Prefixed(id, "workers/");
}

std::string Id(const std::string& name) {
  const size_t slash = name.find('/');
  return Safe(slash == std::string::npos ? name : name.substr(slash + 1));
}

std::string Age(const google::protobuf::Timestamp& time, bool is_set,
                absl::Time now) {
  // A server that never saw something gives a time before all of ours.
  if (!is_set || time.seconds() <= 0) return "-";
  return terminal::HumanDuration(
      std::max(now - wire::FromProto(time), absl::ZeroDuration()));
}

bool Trains(const v1::JobSpec& spec) {
  const auto experiment =
      nlohmann::json::parse(spec.experiment_json(), nullptr, false);
  if (!experiment.is_object()) return true;
  const auto task = experiment.find("task");
  return task == experiment.end() || !task->is_string() || *task == "train";
}

std::string EpochText(const v1::Progress& progress) {
  if (progress.epoch() <= 0) return "-";
  std::string text = std::to_string(progress.epoch());
  if (progress.total_epochs() > 0) {
    text += "/" + std::to_string(progress.total_epochs());
  }
  return text;
}

std::string BestText(const v1::BestMetric& best) {
  if (best.name().empty()) return "-";
  return Safe(best.name()) + " " + terminal::HumanNumber(best.value()) + " (" +
         std::to_string(best.epoch()) + ")";
}

}  // namespace epochd::epochctl
