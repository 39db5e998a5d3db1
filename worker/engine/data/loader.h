// SPDX-License-Identifier: Apache-2.0
//
// The loader: a data set in batches, epoch by epoch, made ahead by threads.
// What comes out, and in which order, depends on (seed, epoch, rank, world
// size) alone; threads only change when it is ready. Batches made ahead are
// bounded in number and bytes. An error in a thread is thrown by the Next()
// that would have returned its batch. Threads end with the loader.
//
// Order: the sampler's, or a permutation of the whole data set by (seed, epoch)
// when shuffling; rank r of W takes places r, r+W, r+2W, ... of it, so that the
// samples of one step over all ranks are the same whatever W is (with
// batch_size * W fixed). `torch_order` takes torch's permutation in place of
// ours, which is what DistributedSampler and MMEngine's DefaultSampler give:
// randperm of a CPU generator seeded with seed + epoch, of which torch reads
// the low 32 bits.
//
// While batches cost less than handing them over between threads would, Next()
// makes them itself and the threads sleep.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/batch_maker.h"
#include "worker/engine/data/sampler.h"

namespace epochd::engine {

struct LoaderOptions {
  int64_t batch_size = 1;  // per rank
  bool shuffle = false;
  int threads = 0;   // 0: made in Next() by the caller
  int prefetch = 4;  // batches ahead, over all threads
  bool drop_last = false;
  uint64_t seed = 0;
  // The experiment's own seed, as it stands there: order as torch makes it.
  std::optional<uint64_t> torch_order = {};
  int rank = 0;
  int world_size = 1;
  // Repeat samples from the front of the order until every rank has the same
  // number: training needs ranks in step. Without it each sample comes once.
  bool pad = false;
  // Without `pad`: leave out the last samples of the order until every rank has
  // the same number; training without repeats.
  bool trim = false;
  // nullptr: each sample once, as `shuffle` says.
  std::shared_ptr<const Sampler> sampler = {};
  // Most bytes of batches made ahead, those being made included, which count
  // as the greatest so far; one batch is always made.
  int64_t prefetch_bytes = int64_t{1} << 30;
  CollateOptions collate = {};
  ReadPolicy policy = {};
  // Samples that may be left out in an epoch of a rank, and records when the
  // data are opened.
  int64_t max_skipped = 100;
  // Batches lie in memory from which a GPU copies without waiting.
  bool pin_memory = false;
};

// Throws Error(kBadSpec): options that make no sense, or a sampler that cannot
// order the data set. Of data that could not all be opened: the first reason,
// or with `policy.skip` where it is more than `max_skipped`.
std::unique_ptr<BatchSource> MakeLoader(std::shared_ptr<const Dataset> dataset,
                                        const LoaderOptions& options);

// Dataset::Unreadable() in words, the first few by name.
std::string TellUnreadable(const std::vector<Error>& unreadable);

}  // namespace epochd::engine
