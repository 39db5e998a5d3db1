// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/loader.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/samplers.h"

namespace epochd::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Mean seconds of making a batch below which handing it over costs more than
// threads save, and above which they are worth it again.
constexpr double kCheap = 30e-6;
constexpr double kDear = 100e-6;
constexpr int kFirstMeasures = 8;
// Times the ranks it is counted without overflow.
constexpr int64_t kMaxBatchSize = int64_t{1} << 31;
// Problems that are kept to be told.
constexpr size_t kMaxProblems = 5;

double SecondsSince(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

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

// What of `all` is this rank's.
std::vector<int64_t> Share(std::vector<int64_t> all,
                           const LoaderOptions& options) {
  if (options.world_size == 1) return all;
  const auto size = static_cast<int64_t>(all.size());
  std::vector<int64_t> mine(size == 0 ? 0 : NumRankSamples(size, options));
  for (size_t i = 0; i < mine.size(); ++i) {
    mine[i] = all[(options.rank + i * options.world_size) % all.size()];
  }
  return mine;
}

// For each place, how often its sample came before.
std::vector<int64_t> CountRepeats(const std::vector<int64_t>& order,
                                  int64_t size) {
  std::vector<int64_t> seen(static_cast<size_t>(size));
  std::vector<int64_t> repeats;
  repeats.reserve(order.size());
  for (int64_t index : order) {
    repeats.push_back(seen[static_cast<size_t>(index)]++);
  }
  return repeats;
}

class Loader : public BatchSource {
 public:
  Loader(std::shared_ptr<const Dataset> dataset,
         std::unique_ptr<const Ordering> ordering, const LoaderOptions& options)
      : dataset_(std::move(dataset)),
        ordering_(std::move(ordering)),
        options_(options),
        maker_(dataset_, options.collate, options.policy, options.pin_memory),
        num_batches_(NumRankBatches(ordering_->NumSamples(), options)),
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
    auto plan = MakePlan(epoch);
    taken_indices_.clear();
    skipped_ = {.is_allowed = options_.policy.skip};
    {
      std::lock_guard lock(mutex_);
      plan_ = std::move(plan);
      ++generation_;
      next_made_ = next_taken_ = first_batch;
      ahead_ = ahead_bytes_ = 0;
      for (Slot& slot : slots_) slot = Slot();
    }
    StartThreads();
    wanted_.notify_all();
  }

  bool Next(Batch& batch) override {
    while (true) {
      Slot slot;
      if (!Take(slot)) return false;
      if (slot.error) std::rethrow_exception(slot.error);
      Count(slot.made.problems);
      // Nothing of it could be read.
      if (slot.made.batch.empty()) continue;
      taken_indices_ = std::move(slot.made.indices);
      batch = std::move(slot.made.batch);
      return true;
    }
  }

  int64_t NumBatches() const override { return num_batches_; }
  int64_t NumSamples() const override { return ordering_->NumSamples(); }
  int64_t BatchSize() const override { return options_.batch_size; }
  const Dataset* dataset() const override { return dataset_.get(); }
  std::vector<int64_t> Indices() const override {
    // Written by Next() and StartEpoch() alone, which the same thread calls.
    if (plan_ == nullptr || next_taken_ == 0) return {};
    if (!taken_indices_.empty()) return taken_indices_;
    const std::span<const int64_t> own =
        plan_->OfBatch(plan_->order, next_taken_ - 1, options_.batch_size);
    return {own.begin(), own.end()};
  }
  Skipped skipped() const override { return skipped_; }
  void ContinueSkipped(const Skipped& before) override {
    skipped_.samples = before.samples;
    skipped_.of_round = before.of_round;
    skipped_.problems = before.problems;
  }

 private:
  // An epoch as this rank sees it; shared by threads.
  struct Plan {
    std::vector<int64_t> order;
    std::vector<int64_t> repeats;  // by place; empty: none
    SampleSeed seed;

    static std::span<const int64_t> OfBatch(const std::vector<int64_t>& list,
                                            int64_t number, int64_t size) {
      if (list.empty()) return {};
      const auto begin = static_cast<size_t>(number * size);
      return std::span(list).subspan(
          begin, std::min(static_cast<size_t>(size), list.size() - begin));
    }
  };
  struct Slot {
    bool ready = false;
    BatchMaker::Made made;
    std::exception_ptr error;
  };

  std::shared_ptr<const Plan> MakePlan(int64_t epoch) const {
    auto plan = std::make_shared<Plan>();
    plan->seed = {options_.seed, epoch};
    std::vector<int64_t> all =
        ordering_->Order({options_.seed, epoch, options_.torch_order});
    if (ordering_->repeats()) {
      plan->repeats = Share(CountRepeats(all, dataset_->Size()), options_);
    }
    plan->order = Share(std::move(all), options_);
    return plan;
  }

  // Starts them at the first epoch: a process may fork before that.
  void StartThreads() {
    for (int i = static_cast<int>(threads_.size()); i < options_.threads; ++i) {
      threads_.emplace_back([this] { Work(); });
      pthread_setname_np(threads_.back().native_handle(),
                         ("loader-" + std::to_string(i)).c_str());
    }
  }

  // Gives the next batch. False: there is none.
  bool Take(Slot& taken) {
    std::unique_lock lock(mutex_);
    if (plan_ == nullptr || next_taken_ >= num_batches_) return false;
    if (threads_.empty() || (is_cheap_ && next_made_ == next_taken_)) {
      const auto plan = plan_;
      const int64_t number = next_taken_++;
      next_made_ = next_taken_;
      lock.unlock();
      if (threads_.empty()) {
        taken.made = Make(*plan, number);
        return true;
      }
      const Clock::time_point began = Clock::now();
      taken.made = Make(*plan, number);
      const double seconds = SecondsSince(began);
      lock.lock();
      Measure(seconds, taken.made.bytes);
      return true;
    }
    Slot& slot = slots_[next_taken_ % slots_.size()];
    made_.wait(lock, [&slot] { return slot.ready; });
    taken = std::exchange(slot, Slot());
    ++next_taken_;
    --ahead_;
    const bool was_full = ahead_bytes_ > options_.prefetch_bytes / 2;
    ahead_bytes_ -= taken.made.bytes;
    // Wakes a thread only for several batches: for small ones waking is the
    // larger part of the cost.
    const bool is_low =
        next_made_ - next_taken_ <= static_cast<int64_t>(slots_.size()) / 2;
    lock.unlock();
    if (is_low || was_full) wanted_.notify_one();
    return true;
  }

  BatchMaker::Made Make(const Plan& plan, int64_t number) const {
    SampleSeed seed = plan.seed;
    seed.repeats = Plan::OfBatch(plan.repeats, number, options_.batch_size);
    return maker_.Make(Plan::OfBatch(plan.order, number, options_.batch_size),
                       seed);
  }

  // Learns from a batch that was made. Called with the mutex held.
  void Measure(double seconds, int64_t bytes) {
    const bool is_first = greatest_ == 0;
    greatest_ = std::max(greatest_, bytes);
    num_measured_ = std::min(num_measured_ + 1, kFirstMeasures * 2);
    mean_seconds_ += (seconds - mean_seconds_) / num_measured_;
    const bool was_cheap = is_cheap_;
    if (num_measured_ >= kFirstMeasures) {
      is_cheap_ = mean_seconds_ < (was_cheap ? kDear : kCheap);
    }
    if (is_first || (was_cheap && !is_cheap_)) wanted_.notify_all();
  }

  // Whether a thread may make another batch. Called with the mutex held.
  bool HasRoom() const {
    if (plan_ == nullptr || is_cheap_ || next_made_ >= num_batches_ ||
        next_made_ >= next_taken_ + static_cast<int64_t>(slots_.size())) {
      return false;
    }
    if (ahead_ == 0) return true;
    // The first one says how large they are.
    return greatest_ > 0 && ahead_bytes_ + (num_in_work_ + 1) * greatest_ <=
                                options_.prefetch_bytes;
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wanted_.wait(lock, [this] { return stop_ || HasRoom(); });
      if (stop_) return;
      const int64_t number = next_made_++;
      ++ahead_;
      ++num_in_work_;
      const uint64_t generation = generation_;
      const auto plan = plan_;
      lock.unlock();
      Slot slot;
      slot.ready = true;
      const Clock::time_point began = Clock::now();
      try {
        slot.made = Make(*plan, number);
      } catch (...) {
        slot.error = std::current_exception();
      }
      const double seconds = SecondsSince(began);
      lock.lock();
      --num_in_work_;
      Measure(seconds, slot.made.bytes);
      // An epoch begun meanwhile does not want it.
      if (generation != generation_) continue;
      ahead_bytes_ += slot.made.bytes;
      slots_[number % slots_.size()] = std::move(slot);
      made_.notify_one();
    }
  }

  void Count(std::vector<std::string>& problems) {
    if (problems.empty()) return;
    skipped_.samples += static_cast<int64_t>(problems.size());
    skipped_.of_round += static_cast<int64_t>(problems.size());
    for (std::string& problem : problems) {
      if (skipped_.problems.size() == kMaxProblems) break;
      skipped_.problems.push_back(std::move(problem));
    }
    if (skipped_.of_round <= options_.max_skipped) return;
    std::string text = "data: " + std::to_string(skipped_.of_round) +
                       " samples of this epoch could not be read, more than "
                       "max_skipped: " +
                       std::to_string(options_.max_skipped) + " allows";
    for (const std::string& problem : skipped_.problems) {
      text += "; " + problem;
    }
    throw Error(ErrorKind::kBadSpec, text);
  }

  const std::shared_ptr<const Dataset> dataset_;
  const std::unique_ptr<const Ordering> ordering_;
  const LoaderOptions options_;
  const BatchMaker maker_;
  const int64_t num_batches_;

  std::mutex mutex_;  // guards all down to threads_
  std::condition_variable wanted_;
  std::condition_variable made_;
  bool stop_ = false;
  uint64_t generation_ = 0;
  std::shared_ptr<const Plan> plan_;
  int64_t next_made_ = 0;
  int64_t next_taken_ = 0;
  std::vector<Slot> slots_;  // ring, by batch number
  int64_t ahead_ = 0;        // batches being made or ready
  int64_t ahead_bytes_ = 0;  // of those that are ready
  int64_t num_in_work_ = 0;  // also for epochs that nobody wants
  int64_t greatest_ = 0;     // bytes of a batch; 0: none was made
  int num_measured_ = 0;
  double mean_seconds_ = 0;  // of making a batch, of late
  bool is_cheap_ = false;    // Next() makes them

  std::vector<std::thread> threads_;  // from here on: caller's thread only
  std::vector<int64_t> taken_indices_;
  Skipped skipped_;
};

// What of the data could not be opened counts as samples that cannot be read.
void CheckUnreadable(const Dataset& dataset, const LoaderOptions& options) {
  const std::vector<Error> unreadable = dataset.Unreadable();
  if (unreadable.empty()) return;
  if (!options.policy.skip) throw unreadable.front();
  const auto count = static_cast<int64_t>(unreadable.size());
  if (count > options.max_skipped) {
    throw Error(ErrorKind::kBadSpec,
                TellUnreadable(unreadable) + "; more than max_skipped: " +
                    std::to_string(options.max_skipped) + " allows");
  }
}

}  // namespace

std::string TellUnreadable(const std::vector<Error>& unreadable) {
  std::string text = std::to_string(unreadable.size()) +
                     " records could not be opened and are left out";
  for (size_t i = 0; i < std::min(unreadable.size(), kMaxProblems); ++i) {
    text += std::string(i == 0 ? ": " : "; ") + unreadable[i].what();
  }
  if (unreadable.size() > kMaxProblems) {
    text +=
        "; and " + std::to_string(unreadable.size() - kMaxProblems) + " more";
  }
  return text;
}

std::unique_ptr<BatchSource> MakeLoader(std::shared_ptr<const Dataset> dataset,
                                        const LoaderOptions& options) {
  if (options.batch_size < 1 || options.batch_size > kMaxBatchSize ||
      options.threads < 0 || options.rank < 0 ||
      options.rank >= options.world_size) {
    throw Error(ErrorKind::kBadSpec,
                "loader: batch_size " + std::to_string(options.batch_size) +
                    ", threads " + std::to_string(options.threads) + ", rank " +
                    std::to_string(options.rank) + " of " +
                    std::to_string(options.world_size) +
                    "; batch_size must be 1 to " +
                    std::to_string(kMaxBatchSize) + ", threads 0 or more");
  }
  CheckUnreadable(*dataset, options);
  const PlainSampler plain(options.shuffle, /*endless=*/false);
  const Sampler& sampler = options.sampler ? *options.sampler : plain;
  auto ordering =
      sampler.Bind(*dataset, options.batch_size * options.world_size);
  return std::make_unique<Loader>(std::move(dataset), std::move(ordering),
                                  options);
}

}  // namespace epochd::engine
