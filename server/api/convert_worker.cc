// SPDX-License-Identifier: Apache-2.0
#include "server/api/convert_worker.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "catalogue/catalogue.h"
#include "proto/wire/status.h"
#include "proto/wire/time.h"
#include "server/api/convert_job.h"
#include "server/api/field_rules.h"
#include "server/api/names.h"

namespace epochd::api {
namespace {

constexpr int kMaxDevices = 4096;
constexpr int kMaxObserved = 4096;
// Of one attempt; what comes beyond says nothing new.
constexpr int kMaxProblems = 16;
constexpr size_t kMaxProblemBytes = 1024;

// The beginning of a text, without half a character at its end.
std::string Shortened(const std::string& text) {
  size_t size = std::min(text.size(), kMaxProblemBytes);
  while (size > 0 && size < text.size() && (text[size] & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

v1::Device ToProto(const fleet::Device& device) {
  v1::Device out;
  out.set_id(device.id);
  out.set_kind(static_cast<v1::DeviceKind>(device.kind));
  out.set_model(device.model);
  out.set_memory_bytes(device.memory_bytes);
  return out;
}

v1::DesiredAttempt ToProto(const control::DesiredAttempt& desired) {
  v1::DesiredAttempt out;
  out.set_attempt(desired.attempt.ResourceName());
  out.set_run(desired.run);
  *out.mutable_stop_grace() = wire::ToProto(desired.stop_grace);
  out.set_stop_reason(static_cast<v1::AttemptReason>(desired.stop_reason));
  if (desired.spec != nullptr)
    *out.mutable_spec() = api::ToProto(*desired.spec);
  out.set_world_size(desired.world_size);
  for (const auto& rank : desired.ranks) *out.add_ranks() = api::ToProto(rank);
  for (const auto& worker : desired.rank_workers) {
    out.add_rank_workers(worker.ResourceName());
  }
  out.set_rendezvous(desired.rendezvous);
  out.set_start(desired.start);
  for (const job::Checkpoint& checkpoint : desired.resume) {
    *out.add_resume() = api::ToProto(desired.attempt.job, checkpoint);
  }
  *out.mutable_self_fence_after() = wire::ToProto(desired.self_fence_after);
  return out;
}

absl::StatusOr<control::ObservedAttempt> FromProto(
    const v1::ObservedAttempt& in) {
  auto id = ParseAttemptName(in.attempt());
  if (!id.ok()) return id.status();
  // A newer agent may know more than we do; what we cannot tell apart must not
  // move a job.
  if (!v1::AttemptState_IsValid(in.state()) ||
      !v1::AttemptReason_IsValid(in.reason())) {
    return wire::BadRequest(
        {{"observed",
          absl::StrCat("state '", static_cast<int>(in.state()), "' or reason '",
                       static_cast<int>(in.reason()), "' of ", in.attempt(),
                       " is unknown")}});
  }
  control::ObservedAttempt out;
  out.attempt = *id;
  out.state = static_cast<job::AttemptState>(in.state());
  out.reason = static_cast<job::AttemptReason>(in.reason());
  out.message = in.message();
  out.rendezvous = in.rendezvous();
  out.drained = in.drained();
  out.ready = in.ready();
  out.acknowledged_bytes = in.acknowledged_bytes();
  out.lost_peers = in.lost_peers();
  for (const std::string& problem : in.problems()) {
    if (out.problems.size() == kMaxProblems) break;
    out.problems.push_back(Shortened(problem));
  }
  for (const v1::ObservedRank& rank : in.ranks()) {
    control::ObservedRank to;
    to.rank = rank.rank();
    to.running = rank.running();
    if (rank.has_exit_code()) to.exit_code = rank.exit_code();
    if (rank.has_term_signal()) to.term_signal = rank.term_signal();
    out.ranks.push_back(to);
  }
  return out;
}

absl::StatusOr<std::vector<control::ObservedAttempt>> FromProto(
    const google::protobuf::RepeatedPtrField<v1::ObservedAttempt>& in) {
  if (in.size() > kMaxObserved) {
    return wire::BadRequest(
        {{"observed", absl::StrCat(in.size(), " attempts, at most ",
                                   kMaxObserved, " are accepted")}});
  }
  std::vector<control::ObservedAttempt> out;
  for (const v1::ObservedAttempt& attempt : in) {
    auto observed = FromProto(attempt);
    if (!observed.ok()) return observed.status();
    out.push_back(*std::move(observed));
  }
  return out;
}

void CheckDevices(const v1::RegisterRequest& request, FieldRules& rules,
                  fleet::WorkerRecord& worker) {
  if (request.devices_size() > kMaxDevices) {
    rules.Add("devices",
              absl::StrCat(request.devices_size(), " devices, at most ",
                           kMaxDevices, " are accepted"));
    return;
  }
  for (int i = 0; i < request.devices_size(); ++i) {
    const v1::Device& in = request.devices(i);
    const std::string here = catalogue::AppendIndex("devices", i);
    if (in.id().empty()) rules.Add(here, "empty id '', any text is accepted");
    rules.Text(here, in.id(), 128);
    rules.Text(here, in.model(), 128);
    if (in.kind() != v1::DEVICE_KIND_CPU && in.kind() != v1::DEVICE_KIND_GPU) {
      rules.Add(here,
                absl::StrCat("unknown kind '", static_cast<int>(in.kind()),
                             "', cpu or gpu is accepted"));
    }
    rules.InRange(here, in.memory_bytes(), 0, int64_t{1} << 60);
    worker.devices.push_back({in.id(), static_cast<job::DeviceKind>(in.kind()),
                              in.model(), in.memory_bytes()});
  }
}

}  // namespace

v1::Worker ToProto(const fleet::WorkerView& view) {
  v1::Worker out;
  out.set_name(view.record.id.ResourceName());
  out.set_state(static_cast<v1::WorkerState>(view.state));
  out.set_message(view.message);
  out.set_hostname(view.record.hostname);
  out.set_version(view.record.version);
  for (const fleet::Device& device : view.record.devices) {
    auto* to = out.add_devices();
    *to = ToProto(device);
    const auto held = view.held.find(device.id);
    if (held != view.held.end()) to->set_held_by(held->second.ResourceName());
  }
  out.mutable_labels()->insert(view.record.labels.begin(),
                               view.record.labels.end());
  *out.mutable_register_time() = wire::ToProto(view.record.register_time);
  // A restarted coordinator has not seen it yet.
  if (view.last_seen_time != absl::InfinitePast()) {
    *out.mutable_last_seen_time() = wire::ToProto(view.last_seen_time);
  }
  out.set_catalogue_sha256(view.record.catalogue_sha256);
  out.set_memory_bytes(view.record.memory_bytes);
  return out;
}

v1::DesiredState ToProto(const control::DesiredState& desired) {
  v1::DesiredState out;
  out.set_version(desired.version);
  for (const auto& attempt : desired.attempts) {
    *out.add_attempts() = ToProto(attempt);
  }
  return out;
}

absl::StatusOr<control::Registration> FromProto(
    const v1::RegisterRequest& request) {
  auto id = ParseWorker(request.worker());
  if (!id.ok()) return id.status();
  auto incarnation = ParseIncarnation(request.incarnation());
  if (!incarnation.ok()) return incarnation.status();
  auto observed = FromProto(request.observed());
  if (!observed.ok()) return observed.status();
  control::Registration out;
  fleet::WorkerRecord& worker = out.worker;
  worker.id = *std::move(id);
  worker.incarnation = *std::move(incarnation);
  worker.boot_id = request.boot_id();
  worker.work_dir = request.work_dir_id();
  worker.hostname = request.hostname();
  worker.version = request.version();
  worker.labels = {request.labels().begin(), request.labels().end()};
  worker.memory_bytes = request.memory_bytes();
  FieldRules rules;
  rules.Text("boot_id", worker.boot_id, 128);
  // Who cannot say which folder it works in cannot say what runs there.
  if (worker.work_dir.empty()) {
    rules.Add("work_dir_id", "'' is none, 1 to 128 characters are accepted");
  }
  rules.Text("work_dir_id", worker.work_dir, 128);
  rules.Text("hostname", worker.hostname, 255);
  rules.Text("version", worker.version, 128);
  rules.Labels("labels", worker.labels);
  rules.InRange("memory_bytes", worker.memory_bytes, 0, int64_t{1} << 60);
  CheckDevices(request, rules, worker);
  if (!rules.violations().empty()) return wire::BadRequest(rules.violations());
  out.observed = *std::move(observed);
  out.sequence = request.sequence();
  out.stopping = request.stopping();
  out.not_ready = Shortened(request.not_ready());
  return out;
}

absl::StatusOr<control::Heartbeat> FromProto(
    const v1::HeartbeatRequest& request) {
  auto worker = ParseWorker(request.worker());
  if (!worker.ok()) return worker.status();
  auto incarnation = ParseIncarnation(request.incarnation());
  if (!incarnation.ok()) return incarnation.status();
  auto observed = FromProto(request.observed());
  if (!observed.ok()) return observed.status();
  return control::Heartbeat{
      *std::move(worker),   *std::move(incarnation),
      *std::move(observed), request.sequence(),
      request.stopping(),   Shortened(request.not_ready())};
}

absl::StatusOr<control::EventLines> FromProto(
    const v1::ReportEventsRequest& request) {
  auto worker = ParseWorker(request.worker());
  if (!worker.ok()) return worker.status();
  auto incarnation = ParseIncarnation(request.incarnation());
  if (!incarnation.ok()) return incarnation.status();
  auto attempt = ParseAttemptName(request.attempt());
  if (!attempt.ok()) return attempt.status();
  if (request.offset() < 0) {
    return wire::BadRequest(
        {{"offset", absl::StrCat("'", request.offset(),
                                 "' is negative, 0 and more is accepted")}});
  }
  return control::EventLines{*std::move(worker),  *std::move(incarnation),
                             *std::move(attempt), request.rank(),
                             request.offset(),    request.lines()};
}

}  // namespace epochd::api
