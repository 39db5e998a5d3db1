// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/fleet.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"

namespace epochd::fleet {
namespace {

// A delayed call of an agent older than these many is let through again; no
// network keeps one that long.
constexpr size_t kRetiredKept = 16;

std::string Told(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

absl::Status CheckDevices(const WorkerRecord& record) {
  std::set<std::string> ids;
  for (const Device& device : record.devices) {
    if (device.id.empty() || !ids.insert(device.id).second) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: device id '{}' is given twice or empty, ids have to be "
          "different",
          record.id.ResourceName(), device.id));
    }
  }
  return absl::OkStatus();
}

absl::Status Superseded(const job::WorkerId& id) {
  return absl::AbortedError(fmt::format(
      "{}: a newer agent has taken this name over, stop", id.ResourceName()));
}

absl::Status NameInUse(const WorkerRecord& holder) {
  return absl::AlreadyExistsError(fmt::format(
      "{}: this name is in use by an agent on another work folder, on host "
      "'{}', give each worker a name of its own with --name",
      holder.id.ResourceName(), holder.hostname));
}

}  // namespace

void Fleet::Restore(WorkerRecord record, SteadyTime now) {
  const job::WorkerId id = record.id;
  Entry entry;
  entry.record = std::move(record);
  entry.renewed = now;
  entries_[id] = std::move(entry);
}

absl::StatusOr<Fleet::Registered> Fleet::Register(WorkerRecord record,
                                                  int64_t sequence,
                                                  SteadyTime now) {
  if (auto status = CheckDevices(record); !status.ok()) return status;
  auto [it, is_new] = entries_.try_emplace(record.id);
  Entry& entry = it->second;
  if (is_new) {
    entry.record = std::move(record);
    entry.sequence = sequence;
    Renewed(entry, now);
    return Registered{true, true, true};
  }
  if (std::find(entry.retired.begin(), entry.retired.end(),
                record.incarnation) != entry.retired.end()) {
    return Superseded(record.id);
  }
  Registered result;
  result.new_incarnation = record.incarnation != entry.record.incarnation;
  // Silence alone tells: one that is known from before a restart may yet speak.
  if (result.new_incarnation && record.work_dir != entry.record.work_dir &&
      !IsSilent(record.id, now)) {
    return NameInUse(entry.record);
  }
  result.new_boot = record.boot_id != entry.record.boot_id;
  if (result.new_incarnation) {
    entry.retired.push_back(entry.record.incarnation);
    if (entry.retired.size() > kRetiredKept) entry.retired.pop_front();
    entry.sequence = sequence;
    entry.stopping = false;
    entry.not_ready.clear();
  } else {
    record.register_time = entry.record.register_time;
    result.newest = TakesIn(entry, sequence);
  }
  record.draining = entry.record.draining;
  if (result.newest) entry.record = std::move(record);
  Renewed(entry, now);
  return result;
}

absl::StatusOr<bool> Fleet::Renew(const job::WorkerId& id,
                                  const job::Incarnation& incarnation,
                                  int64_t sequence, SteadyTime now) {
  if (auto status = Admit(id, incarnation); !status.ok()) return status;
  Entry& entry = entries_.at(id);
  Renewed(entry, now);
  return TakesIn(entry, sequence);
}

absl::Status Fleet::Admit(const job::WorkerId& id,
                          const job::Incarnation& incarnation) const {
  const Entry* entry = FindEntry(id);
  if (entry == nullptr) {
    return absl::NotFoundError(fmt::format(
        "{}: is not known here, register first", id.ResourceName()));
  }
  if (entry->record.incarnation != incarnation) return Superseded(id);
  return absl::OkStatus();
}

void Fleet::SetStopping(const job::WorkerId& id, bool stopping) {
  const auto it = entries_.find(id);
  if (it != entries_.end()) it->second.stopping = stopping;
}

void Fleet::SetNotReady(const job::WorkerId& id, std::string why) {
  const auto it = entries_.find(id);
  if (it != entries_.end()) it->second.not_ready = std::move(why);
}

bool Fleet::IsStopping(const job::WorkerId& id) const {
  const Entry* entry = FindEntry(id);
  return entry != nullptr && entry->stopping;
}

void Fleet::Suspect(const job::WorkerId& id) {
  const auto it = entries_.find(id);
  if (it != entries_.end()) it->second.suspect = true;
}

bool Fleet::SetDraining(const job::WorkerId& id, bool draining) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return false;
  it->second.record.draining = draining;
  return true;
}

void Fleet::Tick(SteadyTime now) {
  if (frozen_at_) return;
  int num_counted = 0;
  for (const auto& [id, entry] : entries_) {
    const absl::Duration silence = Silence(entry, now);
    if (silence >= options_.lost_after) continue;
    if (silence < options_.unreachable_after) return;
    ++num_counted;
  }
  if (num_counted >= 2) frozen_at_ = now;
}

void Fleet::NoteStall(absl::Duration gap, SteadyTime now) {
  for (auto& [id, entry] : entries_) {
    entry.renewed = std::min(entry.renewed + gap, now);
  }
  if (frozen_at_) frozen_at_ = *frozen_at_ + gap;
}

const WorkerRecord* Fleet::Find(const job::WorkerId& id) const {
  const Entry* entry = FindEntry(id);
  return entry == nullptr ? nullptr : &entry->record;
}

std::vector<const WorkerRecord*> Fleet::All() const {
  std::vector<const WorkerRecord*> all;
  all.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) all.push_back(&entry.record);
  return all;
}

WorkerState Fleet::StateOf(const job::WorkerId& id, SteadyTime now) const {
  const Entry* entry = FindEntry(id);
  if (entry == nullptr) return WorkerState::kLost;
  // Shows true silence; freezing only keeps it from becoming a loss.
  if (now - entry->renewed >= options_.unreachable_after || !entry->heard ||
      entry->suspect) {
    return Silence(*entry, now) >= options_.lost_after
               ? WorkerState::kLost
               : WorkerState::kUnreachable;
  }
  if (entry->record.draining || entry->stopping) return WorkerState::kDraining;
  return entry->not_ready.empty() ? WorkerState::kReady
                                  : WorkerState::kNotReady;
}

std::string Fleet::MessageOf(const job::WorkerId& id, SteadyTime now) const {
  const Entry* entry = FindEntry(id);
  const WorkerState state = StateOf(id, now);
  if (entry == nullptr || state == WorkerState::kReady) return "";
  if (state == WorkerState::kDraining) {
    return entry->stopping ? "is stopping, gets no new work"
                           : "gets no new work";
  }
  if (state == WorkerState::kNotReady) return entry->not_ready;
  if (!entry->heard) {
    return entry->was_heard ? "not heard from since all workers were silent"
                            : "not heard from since the coordinator started";
  }
  if (entry->suspect && state == WorkerState::kUnreachable) {
    return "silent, a job has given it up";
  }
  return fmt::format(
      "silent for {} or more",
      Told(state == WorkerState::kLost ? options_.lost_after
                                       : options_.unreachable_after));
}

bool Fleet::IsSilent(const job::WorkerId& id, SteadyTime now) const {
  const Entry* entry = FindEntry(id);
  return entry == nullptr || now - entry->renewed >= options_.unreachable_after;
}

bool Fleet::CertainlyEnded(const job::WorkerId& id,
                           absl::Duration worker_lost_after,
                           SteadyTime now) const {
  const Entry* entry = FindEntry(id);
  return entry == nullptr || now - entry->renewed >= worker_lost_after;
}

bool Fleet::LostFor(const job::WorkerId& id, absl::Duration worker_lost_after,
                    SteadyTime now) const {
  const Entry* entry = FindEntry(id);
  return entry == nullptr || Silence(*entry, now) >= worker_lost_after;
}

std::vector<job::WorkerId> Fleet::SilentFor(absl::Duration term,
                                            SteadyTime now) const {
  std::vector<job::WorkerId> silent;
  for (const auto& [id, entry] : entries_) {
    if (Silence(entry, now) >= term) silent.push_back(id);
  }
  return silent;
}

const Fleet::Entry* Fleet::FindEntry(const job::WorkerId& id) const {
  const auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : &it->second;
}

absl::Duration Fleet::Silence(const Entry& entry, SteadyTime now) const {
  const SteadyTime until = frozen_at_ ? std::min(*frozen_at_, now) : now;
  return until - entry.renewed;
}

void Fleet::Renewed(Entry& entry, SteadyTime now) {
  if (frozen_at_) {
    for (auto& [id, other] : entries_) {
      // Those lost before all fell silent stay lost.
      if (Silence(other, now) >= options_.lost_after) continue;
      other.renewed = now;
      other.heard = false;
    }
    frozen_at_.reset();
  }
  entry.renewed = std::max(entry.renewed, now);
  entry.heard = entry.was_heard = true;
  entry.suspect = false;
}

bool Fleet::TakesIn(Entry& entry, int64_t sequence) {
  if (sequence == 0) return true;
  if (sequence <= entry.sequence) return false;
  entry.sequence = sequence;
  return true;
}

}  // namespace epochd::fleet
