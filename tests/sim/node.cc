// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/node.h"

#include <utility>

namespace epochd::sim {
namespace {

using job::AttemptReason;
using job::AttemptState;

constexpr int kEpochs = 3;

}  // namespace

Node::Node(std::string name, int num_cpus, Dice& dice, Outbox outbox)
    : name_(std::move(name)),
      num_cpus_(num_cpus),
      dice_(dice),
      outbox_(std::move(outbox)),
      incarnation_(std::to_string(dice.Bits())),
      boot_(std::to_string(dice.Bits())),
      folder_(std::to_string(dice.Bits())),
      lease_(-absl::Hours(1)) {}

void Node::Tick(fleet::SteadyTime now) {
  std::erase_if(orphans_,
                [&](const auto& orphan) { return now >= orphan.second; });
  // Trainers and their keepers live on without the agent.
  for (auto& [id, running] : attempts_) {
    if (running.state == AttemptState::kEnded) continue;
    if (now - lease_ >= running.order.self_fence_after) {
      End(running, AttemptReason::kWorkerLost);
    } else if (running.began && now >= running.next_step) {
      Step(running, now);
    }
  }
  if (!agent_alive_) {
    if (now < agent_back_) return;
    agent_alive_ = true;
    incarnation_ = std::to_string(dice_.Bits());
    registered_ = false;
    sequence_ = 0;
    seen_version_ = 0;
    next_beat_ = now;
  }
  if (now >= next_beat_) {
    next_beat_ = now + absl::Seconds(2);
    if (registered_) {
      outbox_.beat({job::WorkerId(name_), job::Incarnation(incarnation_),
                    Observe(), ++sequence_},
                   now);
    } else {
      control::Registration registration;
      registration.worker.id = job::WorkerId(name_);
      registration.worker.incarnation = job::Incarnation(incarnation_);
      registration.worker.boot_id = boot_;
      registration.worker.work_dir = folder_;
      for (int i = 0; i < num_cpus_; ++i) {
        registration.worker.devices.push_back(
            {"cpu:" + std::to_string(i), job::DeviceKind::kCpu, "", 0});
      }
      registration.observed = Observe();
      registration.sequence = ++sequence_;
      outbox_.reg(std::move(registration), now);
    }
  }
  if (!registered_) return;
  for (const auto& [id, running] : attempts_) {
    if (running.acknowledged == static_cast<int64_t>(running.spool.size())) {
      continue;
    }
    outbox_.lines({job::WorkerId(name_), job::Incarnation(incarnation_), id, 0,
                   running.acknowledged,
                   running.spool.substr(running.acknowledged)});
  }
}

void Node::OnDesired(std::shared_ptr<const control::DesiredState> desired,
                     std::optional<fleet::SteadyTime> sent,
                     fleet::SteadyTime now) {
  if (!agent_alive_ || desired == nullptr) return;
  if (sent) lease_ = std::max(lease_, *sent);
  if (desired->version < seen_version_) return;
  seen_version_ = desired->version;
  std::map<job::AttemptId, Running> kept;
  for (const control::DesiredAttempt& order : desired->attempts) {
    const auto it = attempts_.find(order.attempt);
    if (it == attempts_.end()) {
      Running fresh;
      fresh.order = order;
      fresh.next_step =
          now + dice_.Between(absl::Milliseconds(100), absl::Seconds(4));
      if (!order.run) {
        fresh.state = AttemptState::kEnded;
        fresh.reason = order.stop_reason;
      } else if (now - lease_ >= order.self_fence_after) {
        continue;
      } else {
        MaybeBegin(fresh);
      }
      kept.emplace(order.attempt, std::move(fresh));
      continue;
    }
    Running& running = it->second;
    running.order = order;
    if (order.run && now - lease_ < order.self_fence_after) MaybeBegin(running);
    if (!order.run && running.state < AttemptState::kStopping) {
      running.state = AttemptState::kStopping;
      running.next_step =
          now + dice_.Between(absl::ZeroDuration(), absl::Seconds(5));
      if (!running.began) End(running, order.stop_reason);
    }
    kept.emplace(order.attempt, std::move(running));
  }
  // The processes of the rest are killed and waited for.
  attempts_ = std::move(kept);
}

void Node::MaybeBegin(Running& running) {
  if (running.began || !running.order.start ||
      running.state != AttemptState::kStarting) {
    return;
  }
  running.began = true;
  outbox_.process_began(running.order.attempt);
}

void Node::OnLinesTaken(const control::EventLines& lines, int64_t next) {
  const auto it = attempts_.find(lines.attempt);
  if (!agent_alive_ || it == attempts_.end()) return;
  // The coordinator may want again what it forgot.
  it->second.acknowledged =
      std::min<int64_t>(next, static_cast<int64_t>(it->second.spool.size()));
}

void Node::OnLinesRefused(const control::EventLines& lines) {
  const auto it = attempts_.find(lines.attempt);
  if (!agent_alive_ || it == attempts_.end()) return;
  if (it->second.state != AttemptState::kEnded) {
    End(it->second, AttemptReason::kCancelled);
  }
}

void Node::KillAgent(fleet::SteadyTime now) {
  agent_alive_ = false;
  registered_ = false;
  agent_back_ = now + dice_.Between(absl::Seconds(1), absl::Seconds(30));
  // What it knew of acknowledgements is on its disk, or a little behind.
  for (auto& [id, running] : attempts_) {
    if (dice_.OneIn(2)) running.acknowledged = 0;
  }
}

void Node::Reboot(fleet::SteadyTime now) {
  KillAgent(now);
  boot_ = std::to_string(dice_.Bits());
  attempts_.clear();
  orphans_.clear();
}

void Node::LoseFolder(fleet::SteadyTime now) {
  for (const auto& [id, running] : attempts_) {
    if (!running.began || running.state == AttemptState::kEnded) continue;
    orphans_[id] = lease_ + running.order.self_fence_after;
  }
  attempts_.clear();
  KillAgent(now);
  folder_ = std::to_string(dice_.Bits());
}

std::vector<job::AttemptId> Node::Alive() const {
  std::vector<job::AttemptId> alive;
  for (const auto& [id, running] : attempts_) {
    if (running.began && running.state != AttemptState::kEnded) {
      alive.push_back(id);
    }
  }
  const auto orphans = Orphans();
  alive.insert(alive.end(), orphans.begin(), orphans.end());
  return alive;
}

std::vector<job::AttemptId> Node::Orphans() const {
  std::vector<job::AttemptId> orphans;
  for (const auto& [id, end] : orphans_) orphans.push_back(id);
  return orphans;
}

std::vector<control::ObservedAttempt> Node::Observe() const {
  std::vector<control::ObservedAttempt> observed;
  for (const auto& [id, running] : attempts_) {
    control::ObservedAttempt one;
    one.attempt = id;
    one.state = running.state;
    one.reason = running.reason;
    one.ready = true;
    one.acknowledged_bytes = running.acknowledged;
    one.drained =
        running.state == AttemptState::kEnded &&
        running.acknowledged == static_cast<int64_t>(running.spool.size());
    if (LeadsHere(running)) one.rendezvous = name_ + ":1";
    observed.push_back(std::move(one));
  }
  return observed;
}

void Node::Step(Running& running, fleet::SteadyTime now) {
  running.next_step =
      now + dice_.Between(absl::Milliseconds(200), absl::Seconds(6));
  switch (running.state) {
    case AttemptState::kStarting:
      running.state = AttemptState::kRunning;
      return;
    case AttemptState::kStopping:
      return End(running, running.trained ? AttemptReason::kCompleted
                                          : running.order.stop_reason);
    case AttemptState::kRunning:
      break;
    default:
      return;
  }
  if (running.trained) return End(running, AttemptReason::kCompleted);
  if (failing_ && dice_.OneIn(25)) {
    return End(running, dice_.OneIn(4) ? AttemptReason::kTrainingFailed
                                       : AttemptReason::kRankLost);
  }
  // Ranks are in step; the one that leads tells of it.
  ++running.epochs_done;
  if (LeadsHere(running)) {
    Say(running, R"({"type":"epoch_finished","epoch":)" +
                     std::to_string(running.epochs_done) + "}\n");
    Say(running, R"({"type":"progress","step":)" +
                     std::to_string(running.epochs_done) + "}\n");
  }
  running.trained = running.epochs_done == kEpochs;
}

void Node::End(Running& running, AttemptReason reason) {
  running.state = AttemptState::kEnded;
  running.reason = reason;
}

void Node::Say(Running& running, const std::string& line) {
  running.spool += line;
}

bool Node::LeadsHere(const Running& running) {
  return !running.order.ranks.empty() && running.order.ranks[0].rank == 0;
}

}  // namespace epochd::sim
