// SPDX-License-Identifier: Apache-2.0
#include "server/store/record_parts.h"

namespace epochd::store {

void Put(const job::RankPlacement& from, pb::RankPlacement* to) {
  to->set_rank(from.rank);
  to->set_worker(from.worker.name());
  for (const std::string& device : from.devices) to->add_devices(device);
  if (from.exit_code) to->set_exit_code(*from.exit_code);
  if (from.term_signal) to->set_term_signal(*from.term_signal);
  if (!from.work_dir.empty()) to->set_work_dir(from.work_dir);
}

job::RankPlacement Get(const pb::RankPlacement& from) {
  job::RankPlacement to;
  to.rank = from.rank();
  to.worker = job::WorkerId(from.worker());
  to.devices = StringsOf(from.devices());
  if (from.has_exit_code()) to.exit_code = from.exit_code();
  if (from.has_term_signal()) to.term_signal = from.term_signal();
  to.work_dir = from.work_dir();
  return to;
}

void Put(const job::BestMetric& from, pb::BestMetric* to) {
  to->set_name(from.name);
  to->set_value(from.value);
  to->set_epoch(from.epoch);
}

job::BestMetric Get(const pb::BestMetric& from) {
  return {from.name(), from.value(), from.epoch()};
}

void Put(const job::Checkpoint& from, pb::Checkpoint* to) {
  to->set_path(from.path);
  to->set_attempt(from.attempt.value());
  to->set_epoch(from.epoch);
  to->set_step(from.step);
  to->set_batch(from.batch);
  to->set_best(from.best);
  to->set_size_bytes(from.size_bytes);
  to->set_manifest_sha256(from.manifest_sha256);
  PutMap(from.metrics, to->mutable_metrics());
  PutTime(from.create_time, [&](auto ns) { to->set_create_time_ns(ns); });
  to->set_world_size(from.world_size);
  to->set_removed(from.removed);
}

job::Checkpoint Get(const pb::Checkpoint& from) {
  job::Checkpoint to;
  to.path = from.path();
  to.attempt = job::AttemptNumber(from.attempt());
  to.epoch = from.epoch();
  to.step = from.step();
  to.batch = from.batch();
  to.best = from.best();
  to.size_bytes = from.size_bytes();
  to.manifest_sha256 = from.manifest_sha256();
  to.metrics = MapOf(from.metrics());
  to.create_time = TimeOf(from.has_create_time_ns(), from.create_time_ns());
  to.world_size = from.world_size();
  to.removed = from.removed();
  return to;
}

}  // namespace epochd::store
