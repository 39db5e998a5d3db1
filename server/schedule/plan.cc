// SPDX-License-Identifier: Apache-2.0
#include "server/schedule/plan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "fmt/format.h"

namespace epochd::schedule {
namespace {

// Different impossible demands remembered within one pass.
constexpr size_t kKindsRemembered = 64;

struct Reason {
  job::JobReason reason = job::JobReason::kUnspecified;
  std::string message;
};

class Planner {
 public:
  Planner(fleet::SteadyTime now, const std::vector<Offer>& fleet) : now_(now) {
    rooms_.reserve(fleet.size());
    for (const Offer& offer : fleet) rooms_.emplace_back(offer);
  }

  Decision Run(const std::vector<QueuedJob>& queue) {
    Decision decision;
    decision.waiting.reserve(queue.size());
    for (const QueuedJob& queued : queue) {
      auto why = Consider(queued, decision);
      if (!why) continue;
      const auto position = static_cast<int32_t>(decision.waiting.size()) + 1;
      decision.waiting.push_back(
          {queued.id, why->reason, std::move(why->message), position});
    }
    return decision;
  }

 private:
  // Assigns the job, or says why it waits.
  std::optional<Reason> Consider(const QueuedJob& queued, Decision& decision) {
    const job::JobSpec& spec = *queued.spec;
    if (now_ < queued.not_before) {
      return Reason{
          job::JobReason::kRestartBackoff,
          fmt::format("starts again in {}",
                      absl::FormatDuration(absl::Ceil(
                          queued.not_before - now_, absl::Milliseconds(100))))};
    }
    bool& blocked = blocked_[static_cast<size_t>(spec.resources.device)];
    if (blocked) {
      const size_t before = decision.waiting.size();
      return Reason{
          job::JobReason::kBehindOthers,
          fmt::format("behind {} other job{}", before, before == 1 ? "" : "s")};
    }
    if (auto known = KnownImpossible(spec)) return known;
    static const std::set<job::WorkerId> kNone;
    const bool has_others =
        queued.avoid.empty() ||
        Count(spec, /*with_components=*/true, queued.avoid).Suffices(spec);
    const auto& avoid = has_others ? queued.avoid : kNone;
    auto ranks = PlaceOn(queued.prefer, spec, avoid);
    if (ranks.empty()) ranks = Place(spec, avoid);
    if (!ranks.empty()) {
      decision.assignments.push_back({queued.id, std::move(ranks)});
      return std::nullopt;
    }
    if (auto impossible = Impossible(spec)) {
      if (impossible_.size() < kKindsRemembered) {
        impossible_.push_back({&spec, *impossible});
      }
      return impossible;
    }
    blocked = true;
    return NotFree(spec, avoid);
  }

  // The whole gang on the worker that it prefers, or nothing.
  std::vector<job::RankPlacement> PlaceOn(
      const std::optional<job::WorkerId>& prefer, const job::JobSpec& spec,
      const std::set<job::WorkerId>& avoid) {
    std::vector<job::RankPlacement> placement;
    if (!prefer || avoid.contains(*prefer)) return placement;
    const auto room = std::find_if(
        rooms_.begin(), rooms_.end(),
        [&](const Room& one) { return one.worker().id == *prefer; });
    if (room == rooms_.end() || !room->usable() || !room->HasComponents(spec) ||
        room->FreeRanks(spec) < spec.resources.replicas.max) {
      return placement;
    }
    for (int32_t rank = 0; rank < spec.resources.replicas.max; ++rank) {
      placement.push_back(room->Take(spec, rank));
    }
    return placement;
  }

  // The gang's placement, or nothing if it does not fit now.
  std::vector<job::RankPlacement> Place(const job::JobSpec& spec,
                                        const std::set<job::WorkerId>& avoid) {
    struct Candidate {
      Room* room;
      int32_t ranks;
    };
    std::vector<Candidate> candidates;
    int64_t total = 0;
    const auto& replicas = spec.resources.replicas;
    const job::DeviceKind kind = spec.resources.device;
    const auto is_open = [&](const Room& room) {
      return room.usable() && room.NumFree(kind) > 0;
    };
    // Workers fill from the first on, and a pass frees none.
    size_t& first_open = first_open_[static_cast<size_t>(kind)];
    while (first_open < rooms_.size() && !is_open(rooms_[first_open])) {
      ++first_open;
    }
    for (size_t i = first_open; i < rooms_.size(); ++i) {
      Room& room = rooms_[i];
      if (!is_open(room) || !room.HasComponents(spec) ||
          avoid.contains(room.worker().id)) {
        continue;
      }
      const int32_t ranks = room.FreeRanks(spec);
      if (ranks == 0) continue;
      // No other could take more, and among equals the first is taken.
      if (ranks == replicas.max) candidates.clear();
      candidates.push_back({&room, ranks});
      total += ranks;
      if (ranks == replicas.max) break;
    }
    const bool one_node = spec.resources.same_node == job::Placement::kRequired;
    int32_t most = 0;
    for (const Candidate& one : candidates) most = std::max(most, one.ranks);
    const auto wanted = static_cast<int32_t>(
        std::min<int64_t>(replicas.max, one_node ? most : total));
    if (wanted < replicas.min || wanted == 0) return {};

    // FreeRanks is at most replicas.max, so workers that hold all of it tie,
    // and the first by name is taken.
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return a.ranks > b.ranks;
                     });
    std::vector<job::RankPlacement> placement;
    placement.reserve(wanted);
    for (const Candidate& one : candidates) {
      for (int32_t i = 0; i < one.ranks; ++i) {
        if (static_cast<int32_t>(placement.size()) == wanted) return placement;
        placement.push_back(
            one.room->Take(spec, static_cast<int32_t>(placement.size())));
      }
    }
    return placement;
  }

  // Says why the present fleet could not run the job even if it were idle.
  std::optional<Reason> Impossible(const job::JobSpec& spec) const {
    const Supply able = Count(spec, /*with_components=*/true, {});
    if (able.Suffices(spec)) return std::nullopt;
    if (auto resting = Resting(spec)) return resting;
    if (able.num_present == 0) {
      return Reason{job::JobReason::kNoWorkers, NoWorkers()};
    }
    if (Count(spec, /*with_components=*/false, {}).Suffices(spec)) {
      return Reason{job::JobReason::kComponentsMissing, MissingComponent(spec)};
    }
    const auto& resources = spec.resources;
    return Reason{
        job::JobReason::kUnsatisfiable,
        fmt::format(
            "needs {} rank{}{} on {}{}, the present workers could hold {}{}",
            resources.replicas.min, resources.replicas.min == 1 ? "" : "s",
            resources.same_node == job::Placement::kRequired ? " on one worker"
                                                             : "",
            job::Name(resources.device), MemoryOf(resources),
            resources.same_node == job::Placement::kRequired ? able.most
                                                             : able.total,
            NotReady())};
  }

  static std::string MemoryOf(const job::Resources& resources) {
    if (resources.memory_bytes == 0) return "";
    constexpr double kGibibyte = 1024.0 * 1024 * 1024;
    return fmt::format(" with {:.4g} GiB of memory each",
                       static_cast<double>(resources.memory_bytes) / kGibibyte);
  }

  // Says of a job that would fit but for quarantine what it waits for.
  std::optional<Reason> Resting(const job::JobSpec& spec) const {
    const Supply later =
        Count(spec, /*with_components=*/true, {}, /*with_resting=*/true);
    if (!later.Suffices(spec)) return std::nullopt;
    std::string names;
    for (const Room& room : rooms_) {
      if (room.rests_until().empty() || !room.HasComponents(spec) ||
          room.AllRanks(spec) == 0) {
        continue;
      }
      names += fmt::format("{}{} until {}", names.empty() ? "" : ", ",
                           room.worker().id.name(), room.rests_until());
    }
    return Reason{
        job::JobReason::kNoFreeDevices,
        fmt::format("needs {} rank{} on {}, which fit once quarantine ends: {}",
                    spec.resources.replicas.min,
                    spec.resources.replicas.min == 1 ? "" : "s",
                    job::Name(spec.resources.device), names)};
  }

  std::string NoWorkers() const {
    const auto num_connected =
        std::count_if(rooms_.begin(), rooms_.end(),
                      [](const Room& room) { return room.connected(); });
    if (num_connected == 0) return "no worker is connected";
    const auto num_not_ready =
        std::count_if(rooms_.begin(), rooms_.end(), IsNotReady);
    const auto num_leaving = num_connected - num_not_ready;
    std::string text = "no worker takes new work";
    if (num_leaving > 0) {
      text += fmt::format(": {} {} draining or stopping", num_leaving,
                          num_leaving == 1 ? "is" : "are");
    }
    return text + NotReady();
  }

  static bool IsNotReady(const Room& room) { return !room.not_ready().empty(); }

  // What to tell beside a reason to wait: a worker that cannot start anything,
  // since somebody may have to mend it. Empty where there is none.
  std::string NotReady() const {
    const auto first = std::find_if(rooms_.begin(), rooms_.end(), IsNotReady);
    if (first == rooms_.end()) return "";
    std::string text = fmt::format(
        "; {} is not ready: {}", first->worker().id.name(), first->not_ready());
    const auto num_more = std::count_if(first + 1, rooms_.end(), IsNotReady);
    if (num_more > 0) {
      text += fmt::format("; {} more {} not ready", num_more,
                          num_more == 1 ? "is" : "are");
    }
    return text;
  }

  struct Supply {
    int64_t num_present = 0;
    int64_t total = 0;
    int64_t most = 0;

    bool Suffices(const job::JobSpec& spec) const {
      const bool one_node =
          spec.resources.same_node == job::Placement::kRequired;
      return (one_node ? most : total) >= spec.resources.replicas.min;
    }
  };

  Supply Count(const job::JobSpec& spec, bool with_components,
               const std::set<job::WorkerId>& avoid,
               bool with_resting = false) const {
    Supply supply;
    for (const Room& room : rooms_) {
      const bool counts =
          room.present() || (with_resting && !room.rests_until().empty());
      if (!counts || avoid.contains(room.worker().id)) continue;
      ++supply.num_present;
      if (with_components && !room.HasComponents(spec)) continue;
      const int64_t ranks = room.AllRanks(spec);
      supply.total += ranks;
      supply.most = std::max(supply.most, ranks);
    }
    return supply;
  }

  std::string MissingComponent(const job::JobSpec& spec) const {
    for (const std::string& name : spec.required_components) {
      const bool known =
          std::any_of(rooms_.begin(), rooms_.end(), [&](const Room& room) {
            return room.present() && room.worker().components.contains(name);
          });
      if (!known) return fmt::format("no worker has component '{}'", name);
    }
    return "no worker has all components of the job";
  }

  Reason NotFree(const job::JobSpec& spec,
                 const std::set<job::WorkerId>& avoid) const {
    int64_t free = 0;
    for (const Room& room : rooms_) {
      if (room.usable() && room.HasComponents(spec) &&
          !avoid.contains(room.worker().id)) {
        free += room.FreeRanks(spec);
      }
    }
    return {job::JobReason::kNoFreeDevices,
            fmt::format("needs {} {} rank{}, {} would fit now{}{}",
                        spec.resources.replicas.min,
                        job::Name(spec.resources.device),
                        spec.resources.replicas.min == 1 ? "" : "s", free,
                        avoid.empty() ? ""
                                      : fmt::format("; not on {}, which could "
                                                    "not start it",
                                                    avoid.begin()->name()),
                        NotReady())};
  }

  // Many queued jobs want the same; asks the fleet once for each kind.
  std::optional<Reason> KnownImpossible(const job::JobSpec& spec) const {
    for (const auto& [other, reason] : impossible_) {
      if (other->resources == spec.resources &&
          other->required_components == spec.required_components) {
        return reason;
      }
    }
    return std::nullopt;
  }

  const fleet::SteadyTime now_;
  std::vector<Room> rooms_;
  std::array<bool, 3> blocked_ = {};
  // By kind of device: no worker before it has a free one.
  std::array<size_t, 3> first_open_ = {};
  std::vector<std::pair<const job::JobSpec*, Reason>> impossible_;
};

}  // namespace

Decision Plan(fleet::SteadyTime now, const std::vector<QueuedJob>& queue,
              const std::vector<Offer>& fleet) {
  return Planner(now, fleet).Run(queue);
}

}  // namespace epochd::schedule
