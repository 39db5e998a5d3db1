// SPDX-License-Identifier: Apache-2.0
#include "server/schedule/fit.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_set>

namespace epochd::schedule {
namespace {

bool SameWithoutCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) {
                      return std::tolower(x) == std::tolower(y);
                    });
}

int32_t DevicesPerRank(const job::JobSpec& spec) {
  return spec.resources.device == job::DeviceKind::kGpu
             ? 1
             : std::max(spec.resources.cpus, 1);
}

}  // namespace

Room::Room(const Offer& offer)
    : offer_(&offer),
      memory_free_(std::max<int64_t>(
          0, offer.worker->memory_bytes - offer.memory_held)) {
  const std::unordered_set<std::string_view> held(offer.held.begin(),
                                                  offer.held.end());
  slots_.reserve(offer.worker->devices.size());
  for (const fleet::Device& device : offer.worker->devices) {
    const bool free = held.empty() || !held.contains(device.id);
    slots_.push_back({&device, free});
    const auto kind = static_cast<size_t>(device.kind);
    ++num_all_[kind];
    if (free) ++num_free_[kind];
  }
}

bool Room::Allows(const job::JobSpec& spec) const {
  const auto& labels = worker().labels;
  for (const auto& [key, value] : spec.resources.node_labels) {
    const auto it = labels.find(key);
    if (it == labels.end() || it->second != value) return false;
  }
  return num_all_[static_cast<size_t>(spec.resources.device)] > 0;
}

bool Room::HasComponents(const job::JobSpec& spec) const {
  const auto& has = worker().components;
  return std::all_of(
      spec.required_components.begin(), spec.required_components.end(),
      [&](const std::string& name) { return has.contains(name); });
}

int32_t Room::FreeRanks(const job::JobSpec& spec) const {
  return Ranks(spec, /*all=*/false);
}

int32_t Room::AllRanks(const job::JobSpec& spec) const {
  return Ranks(spec, /*all=*/true);
}

job::RankPlacement Room::Take(const job::JobSpec& spec, int32_t rank) {
  job::RankPlacement placement;
  placement.rank = rank;
  placement.worker = worker().id;
  placement.work_dir = worker().work_dir;
  int32_t wanted = DevicesPerRank(spec);
  for (Slot& slot : slots_) {
    if (wanted == 0) break;
    if (!slot.free || !Matches(*slot.device, spec)) continue;
    slot.free = false;
    --num_free_[static_cast<size_t>(slot.device->kind)];
    placement.devices.push_back(slot.device->id);
    --wanted;
  }
  memory_free_ -= spec.resources.memory_bytes;
  return placement;
}

bool Room::Matches(const fleet::Device& device,
                   const job::JobSpec& spec) const {
  const auto& models = spec.resources.models;
  return device.kind == spec.resources.device &&
         (models.empty() || std::any_of(models.begin(), models.end(),
                                        [&](const std::string& model) {
                                          return SameWithoutCase(model,
                                                                 device.model);
                                        }));
}

int32_t Room::Ranks(const job::JobSpec& spec, bool all) const {
  if (!Allows(spec)) return 0;
  const auto kind = static_cast<size_t>(spec.resources.device);
  int64_t num_devices = all ? num_all_[kind] : num_free_[kind];
  if (!spec.resources.models.empty()) {
    num_devices = std::count_if(slots_.begin(), slots_.end(), [&](Slot slot) {
      return (all || slot.free) && Matches(*slot.device, spec);
    });
  }
  int64_t ranks = num_devices / DevicesPerRank(spec);
  // A worker that does not know its memory promises any.
  if (spec.resources.memory_bytes > 0 && worker().memory_bytes > 0) {
    const int64_t memory = all ? worker().memory_bytes : memory_free_;
    ranks = std::min(
        ranks, std::max<int64_t>(memory, 0) / spec.resources.memory_bytes);
  }
  return static_cast<int32_t>(
      std::min<int64_t>(ranks, spec.resources.replicas.max));
}

}  // namespace epochd::schedule
