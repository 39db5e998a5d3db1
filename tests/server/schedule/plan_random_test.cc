// SPDX-License-Identifier: Apache-2.0
//
// Any fleet and any queue: what must hold of every plan.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "server/schedule/plan.h"
#include "tests/server/schedule/cluster.h"

namespace epochd::schedule {
namespace {

struct World {
  explicit World(uint32_t seed) : random(seed) {
    const int num_workers = Below(5);
    for (int i = 0; i < num_workers; ++i) {
      Offer& offer =
          cluster.AddWorker("w" + std::to_string(i), Below(6), Below(3));
      offer.usable = Below(4) != 0;
      offer.present = offer.usable || Below(2) == 0;
      if (!offer.present && Below(2) == 0) {
        offer.not_ready = "rests";
        offer.rests_until = "later";
      }
      for (const auto& device : offer.worker->devices) {
        if (Below(3) == 0) offer.held.push_back(device.id);
      }
      cluster.record(i).memory_bytes = Below(2) * 10;
    }
    const int num_jobs = Below(12);
    for (int i = 0; i < num_jobs; ++i) {
      const int min = 1 + Below(5);
      auto& spec = cluster.AddJob(
          min, min + Below(4),
          Below(3) == 0 ? job::DeviceKind::kGpu : job::DeviceKind::kCpu);
      spec.resources.cpus = 1 + Below(2);
      spec.resources.memory_bytes = Below(3);
      if (Below(3) == 0) spec.resources.same_node = job::Placement::kRequired;
      if (Below(5) == 0) {
        cluster.queued(i).not_before = fleet::SteadyTime(absl::Seconds(5));
      }
    }
  }
  int Below(int n) { return static_cast<int>(random() % n); }

  std::mt19937 random;
  Cluster cluster;
};

void Check(World& world, const Decision& decision) {
  Cluster& cluster = world.cluster;
  std::set<std::pair<job::WorkerId, std::string>> held;
  std::map<job::WorkerId, const Offer*> offers;
  for (const Offer& offer : cluster.offers()) {
    offers[offer.worker->id] = &offer;
    for (const auto& id : offer.held) held.insert({offer.worker->id, id});
  }
  std::map<job::JobId, const QueuedJob*> queued;
  for (const QueuedJob& one : cluster.queue()) queued[one.id] = &one;
  std::map<job::WorkerId, int64_t> memory;

  std::set<job::JobId> answered;
  for (const Assignment& assignment : decision.assignments) {
    ASSERT_TRUE(answered.insert(assignment.job).second);
    const auto& resources = queued.at(assignment.job)->spec->resources;
    const auto size = static_cast<int32_t>(assignment.ranks.size());
    ASSERT_GE(size, resources.replicas.min);
    ASSERT_LE(size, resources.replicas.max);
    std::set<job::WorkerId> workers;
    for (int32_t i = 0; i < size; ++i) {
      const auto& rank = assignment.ranks[i];
      ASSERT_EQ(rank.rank, i);
      ASSERT_TRUE(offers.at(rank.worker)->usable);
      workers.insert(rank.worker);
      memory[rank.worker] += resources.memory_bytes;
      ASSERT_EQ(rank.devices.size(), resources.device == job::DeviceKind::kGpu
                                         ? 1u
                                         : static_cast<size_t>(resources.cpus));
      for (const std::string& id : rank.devices) {
        // I7: nothing is given twice.
        ASSERT_TRUE(held.insert({rank.worker, id}).second) << id;
        for (const auto& device : offers.at(rank.worker)->worker->devices) {
          if (device.id != id) continue;
          ASSERT_EQ(device.kind, resources.device);
        }
      }
    }
    if (resources.same_node == job::Placement::kRequired) {
      ASSERT_EQ(workers.size(), 1u);
    }
  }
  for (const auto& [worker, bytes] : memory) {
    const int64_t total = offers.at(worker)->worker->memory_bytes;
    if (total == 0) continue;
    ASSERT_LE(bytes, total);
  }
  int32_t position = 0;
  for (const Waiting& waiting : decision.waiting) {
    ASSERT_TRUE(answered.insert(waiting.job).second);
    ASSERT_EQ(waiting.position, ++position);
    ASSERT_FALSE(waiting.message.empty());
    ASSERT_TRUE(job::Explains(waiting.reason, job::JobState::kQueued));
  }
  // I6: every job is answered.
  ASSERT_EQ(answered.size(), cluster.queue().size());
}

TEST(PlanRandomTest, EveryPlanIsSound) {
  int num_assigned = 0;
  for (uint32_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    const Decision decision = world.cluster.Plan();
    ASSERT_NO_FATAL_FAILURE(Check(world, decision));
    num_assigned += static_cast<int>(decision.assignments.size());
  }
  EXPECT_GT(num_assigned, 2000);
}

TEST(PlanRandomTest, WhatIsLeftCannotStart) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    const Decision first = world.cluster.Plan();
    // Give what was assigned, ask again for the others.
    std::set<job::JobId> started;
    for (const Assignment& assignment : first.assignments) {
      started.insert(assignment.job);
      for (const auto& rank : assignment.ranks) {
        for (Offer& offer : world.cluster.offers()) {
          if (offer.worker->id != rank.worker) continue;
          offer.held.insert(offer.held.end(), rank.devices.begin(),
                            rank.devices.end());
          for (const auto& queued : world.cluster.queue()) {
            if (queued.id == assignment.job) {
              offer.memory_held += queued.spec->resources.memory_bytes;
            }
          }
        }
      }
    }
    std::erase_if(world.cluster.queue(), [&](const QueuedJob& queued) {
      return started.contains(queued.id);
    });
    const Decision second = world.cluster.Plan();
    ASSERT_TRUE(second.assignments.empty());
    ASSERT_EQ(second.waiting.size(), first.waiting.size());
    for (size_t i = 0; i < first.waiting.size(); ++i) {
      ASSERT_EQ(second.waiting[i].reason, first.waiting[i].reason);
    }
  }
}

}  // namespace
}  // namespace epochd::schedule
