// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/points/point_sets.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

std::string FieldOf(const std::string& set, const std::string& field) {
  return field == "input" ? set : set + "_" + field;
}

int64_t Count(const PointSet& set) {
  return std::max<int64_t>(set.per_sample, 1);
}

int64_t NumSamples(const PointSet& set) {
  return (set.dataset->Size() + Count(set) - 1) / Count(set);
}

class Sets : public Dataset {
 public:
  explicit Sets(std::vector<PointSet> sets) : sets_(std::move(sets)) {
    for (const PointSet& set : sets_) {
      if (set.dataset->Size() < 1) {
        throw Error(ErrorKind::kBadSpec,
                    "sets: \"" + set.name + "\" has no samples");
      }
      size_ = std::max(size_, NumSamples(set));
    }
    if (sets_.empty()) {
      throw Error(ErrorKind::kBadSpec, "sets: none; one or more are accepted");
    }
  }

  int64_t Size() const override { return size_; }

  Batch Get(int64_t index, const SampleSeed& seed) const override {
    return SampleOf(GetBatch(std::span(&index, 1), seed), 0);
  }

  bool GathersBatches() const override { return true; }
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override {
    Batch batch;
    std::vector<int64_t> own;
    std::vector<int64_t> repeats;
    for (const PointSet& set : sets_) {
      const int64_t count = Count(set);
      own.clear();
      repeats.clear();
      for (size_t place = 0; place < indices.size(); ++place) {
        for (int64_t i = 0; i < count; ++i) {
          own.push_back((indices[place] * count + i) % set.dataset->Size());
          if (!seed.repeats.empty()) repeats.push_back(seed.repeats[place]);
        }
      }
      SampleSeed own_seed = seed;
      own_seed.repeats = repeats;
      for (const auto& [name, column] : set.dataset->GetBatch(own, own_seed)) {
        std::string field = FieldOf(set.name, name);
        if (batch.Find(field) != nullptr) {
          throw Error(ErrorKind::kBadSpec,
                      "sets: the field \"" + field +
                          "\" comes from two sets; others need other names");
        }
        batch.Set(field, set.per_sample == 0
                             ? column
                             : column.unflatten(0, {-1, count}));
      }
    }
    return batch;
  }

  std::vector<Error> Unreadable() const override {
    std::vector<Error> all;
    for (const PointSet& set : sets_) {
      for (Error& each : set.dataset->Unreadable()) {
        all.push_back(std::move(each));
      }
    }
    return all;
  }

  at::Tensor Column(std::string_view field) const override {
    for (const PointSet& set : sets_) {
      if (set.per_sample != 0 || set.dataset->Size() != size_) continue;
      if (field == set.name) return set.dataset->Column("input");
      if (field.starts_with(set.name + "_")) {
        return set.dataset->Column(field.substr(set.name.size() + 1));
      }
    }
    return {};
  }

 private:
  const std::vector<PointSet> sets_;
  int64_t size_ = 0;
};

}  // namespace

std::shared_ptr<Dataset> MakePointSets(std::vector<PointSet> sets) {
  return std::make_shared<Sets>(std::move(sets));
}

}  // namespace epochd::engine
