// SPDX-License-Identifier: Apache-2.0
//
// How many ranks of a job a worker can take. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "server/fleet/worker.h"
#include "server/job/event.h"
#include "server/job/spec.h"

namespace epochd::schedule {

// One worker as the scheduler sees it.
struct Offer {
  const fleet::WorkerRecord* worker = nullptr;
  // Given new work now: ready, not draining.
  bool usable = false;
  // Might be given work without anybody doing anything: not lost, draining,
  // stopping or not ready.
  bool present = false;
  // Why nothing can be started there; empty: nothing stands in the way.
  std::string not_ready = {};
  // When it is given work again without anybody doing anything, for people;
  // empty: it is not in quarantine.
  std::string rests_until = {};
  // Not lost.
  bool connected = false;
  // Devices that live attempts hold there.
  std::vector<std::string> held;
  // Sum of memory_bytes of the ranks that run there.
  int64_t memory_held = 0;
};

// An Offer made ready for many questions.
class Room {
 public:
  explicit Room(const Offer& offer);

  const fleet::WorkerRecord& worker() const { return *offer_->worker; }
  bool usable() const { return offer_->usable; }
  bool present() const { return offer_->present; }
  bool connected() const { return offer_->connected; }
  const std::string& not_ready() const { return offer_->not_ready; }
  const std::string& rests_until() const { return offer_->rests_until; }

  // Whether labels and device models allow the job at all.
  bool Allows(const job::JobSpec& spec) const;
  bool HasComponents(const job::JobSpec& spec) const;
  // Free devices of the kind, of any model. None comes back within a pass.
  int32_t NumFree(job::DeviceKind kind) const {
    return num_free_[static_cast<size_t>(kind)];
  }
  // Ranks that fit beside what runs, and if nothing ran. 0 unless Allows.
  int32_t FreeRanks(const job::JobSpec& spec) const;
  int32_t AllRanks(const job::JobSpec& spec) const;

  // Takes devices for one rank; FreeRanks(spec) was at least 1.
  job::RankPlacement Take(const job::JobSpec& spec, int32_t rank);

 private:
  struct Slot {
    const fleet::Device* device;
    bool free;
  };
  bool Matches(const fleet::Device& device, const job::JobSpec& spec) const;
  int32_t Ranks(const job::JobSpec& spec, bool all) const;

  const Offer* offer_;
  std::vector<Slot> slots_;
  // Free and all slots by kind, for the usual job that names no model.
  int32_t num_free_[3] = {0, 0, 0};
  int32_t num_all_[3] = {0, 0, 0};
  int64_t memory_free_;
};

}  // namespace epochd::schedule
