// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/loader.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/random.h"

namespace epochd::engine {
namespace {

int64_t NumRankSamples(int64_t size, const LoaderOptions& options) {
  const int64_t world = options.world_size;
  if (options.pad) return (size + world - 1) / world;
  if (options.trim) return size / world;
  return (size - options.rank + world - 1) / world;
}

int64_t NumRankBatches(int64_t size, const LoaderOptions& options) {
  const int64_t samples = NumRankSamples(size, options);
  if (options.drop_last) return samples / options.batch_size;
  return (samples + options.batch_size - 1) / options.batch_size;
}

class Loader : public BatchSource {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
      : dataset_(std::move(dataset)),
        options_(options),
        num_batches_(NumRankBatches(dataset_->Size(), options)),
        slots_(std::max(options.prefetch, 1)) {}

  ~Loader() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wanted_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void StartEpoch(int64_t epoch, int64_t first_batch) override {
    auto order = std::make_shared<const std::vector<int64_t>>(
        EpochOrder(dataset_->Size(), epoch, options_));
    {
      std::lock_guard lock(mutex_);
      order_ = std::move(order);
      seed_ = SampleSeed{options_.seed, epoch};
      ++generation_;
      next_made_ = next_taken_ = first_batch;
      for (Slot& slot : slots_) slot = Slot();
    }
    StartThreads();
    wanted_.notify_all();
  }

  bool Next(Batch& batch) override {
    std::unique_lock lock(mutex_);
    if (order_ == nullptr || next_taken_ >= num_batches_) return false;
    if (threads_.empty()) {
      const int64_t number = next_taken_++;
      lock.unlock();
      batch = Make(*order_, seed_, number);
      return true;
    }
    Slot& slot = slots_[next_taken_ % slots_.size()];
    made_.wait(lock, [&slot] { return slot.ready; });
    Slot taken = std::exchange(slot, Slot());
    ++next_taken_;
    // Wakes a thread only for several batches: for small ones waking is the
    // larger part of the cost.
    const bool is_low =
        next_made_ - next_taken_ <= static_cast<int64_t>(slots_.size()) / 2;
    lock.unlock();
    if (is_low) wanted_.notify_one();
    if (taken.error) std::rethrow_exception(taken.error);
    batch = std::move(taken.batch);
    return true;
  }

  int64_t NumBatches() const override { return num_batches_; }
  int64_t NumSamples() const override { return dataset_->Size(); }
  int64_t BatchSize() const override { return options_.batch_size; }
  std::vector<int64_t> Indices() const override {
    // Written by Next() and StartEpoch() alone, which the same thread calls.
    if (order_ == nullptr || next_taken_ == 0) return {};
    const auto begin = (next_taken_ - 1) * options_.batch_size;
    const auto end = std::min<int64_t>(begin + options_.batch_size,
                                       static_cast<int64_t>(order_->size()));
    return {order_->begin() + begin, order_->begin() + end};
  }

 private:
  struct Slot {
    bool ready = false;
    Batch batch;
    std::exception_ptr error;
  };

  // Starts them at the first epoch: a process may fork before that.
  void StartThreads() {
    for (int i = static_cast<int>(threads_.size()); i < options_.threads; ++i) {
      threads_.emplace_back([this] { Work(); });
      pthread_setname_np(threads_.back().native_handle(),
                         ("loader-" + std::to_string(i)).c_str());
    }
  }

  Batch Make(const std::vector<int64_t>& order, const SampleSeed& seed,
             int64_t number) const {
    const int64_t begin = number * options_.batch_size;
    const int64_t end = std::min<int64_t>(begin + options_.batch_size,
                                          static_cast<int64_t>(order.size()));
    return dataset_->GetBatch(std::span(order).subspan(begin, end - begin),
                              seed);
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wanted_.wait(lock, [this] {
        return stop_ ||
               (order_ != nullptr && next_made_ < num_batches_ &&
                next_made_ < next_taken_ + static_cast<int64_t>(slots_.size()));
      });
      if (stop_) return;
      const int64_t number = next_made_++;
      const uint64_t generation = generation_;
      const auto order = order_;
      const SampleSeed seed = seed_;
      lock.unlock();
      Slot made;
      made.ready = true;
      try {
        made.batch = Make(*order, seed, number);
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      // An epoch begun meanwhile does not want it.
      if (generation != generation_) continue;
      slots_[number % slots_.size()] = std::move(made);
      made_.notify_one();
    }
  }

  const std::shared_ptr<const Dataset> dataset_;
  const LoaderOptions options_;
  const int64_t num_batches_;

  std::mutex mutex_;  // guards all below but threads_
  std::condition_variable wanted_;
  std::condition_variable made_;
  bool stop_ = false;
  uint64_t generation_ = 0;
  std::shared_ptr<const std::vector<int64_t>> order_;
  SampleSeed seed_;
  int64_t next_made_ = 0;
  int64_t next_taken_ = 0;
  std::vector<Slot> slots_;  // ring, by batch number

  std::vector<std::thread> threads_;  // caller's thread only
};

}  // namespace

std::vector<int64_t> EpochOrder(int64_t size, int64_t epoch,
                                const LoaderOptions& options) {
  std::vector<int64_t> all(size);
  std::iota(all.begin(), all.end(), 0);
  if (options.shuffle && options.torch_order) {
    at::Generator generator = at::detail::createCPUGenerator(
        *options.torch_order + static_cast<uint64_t>(epoch));
    const at::Tensor order = at::randperm(size, generator, at::kLong);
    const auto* values = order.const_data_ptr<int64_t>();
    all.assign(values, values + size);
  } else if (options.shuffle) {
    Random random({static_cast<uint64_t>(Stream::kOrder), options.seed,
                   static_cast<uint64_t>(epoch)});
    random.Shuffle(all);
  }
  if (options.world_size == 1) return all;
  std::vector<int64_t> mine(size == 0 ? 0 : NumRankSamples(size, options));
  for (size_t i = 0; i < mine.size(); ++i) {
    mine[i] = all[(options.rank + i * options.world_size) % all.size()];
  }
  return mine;
}

std::unique_ptr<BatchSource> MakeLoader(std::shared_ptr<const Dataset> dataset,
                                        const LoaderOptions& options) {
  if (options.batch_size < 1 || options.threads < 0 || options.rank < 0 ||
      options.rank >= options.world_size) {
    throw Error(ErrorKind::kBadSpec,
                "loader: batch_size " + std::to_string(options.batch_size) +
                    ", threads " + std::to_string(options.threads) + ", rank " +
                    std::to_string(options.rank) + " of " +
                    std::to_string(options.world_size) +
                    "; batch_size must be 1 or more, threads 0 or more");
  }
  return std::make_unique<Loader>(std::move(dataset), options);
}

}  // namespace epochd::engine
