// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/record_set.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "worker/engine/data/column.h"

namespace epochd::engine {
namespace {

[[noreturn]] void RefuseSet(const std::string& path,
                            const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "records \"" + path + "\": " + problem);
}

}  // namespace

RecordSet::RecordSet(const RecordOptions& options) : options_(options) {
  if (options.labels == LabelSource::kCsv) {
    csv_labels_ = LabelsByRecord(options.label_file, options.record_column,
                                 options.label_column);
  }
  if (options.group == LabelSource::kCsv) {
    csv_groups_ = LabelsByRecord(options.label_file, options.record_column,
                                 options.group_column);
  }
}

std::string RecordSet::FromCsv(const std::map<std::string, std::string>& table,
                               const Recording& recording,
                               const RecordFacts& facts) const {
  for (const std::string& name : facts.names) {
    const auto found = table.find(name);
    if (found != table.end()) return found->second;
  }
  RefuseSet(recording.path(), "is not in \"" + options_.label_file + "\"");
}

std::optional<std::vector<int64_t>> RecordSet::LabelsOf(
    const Recording& recording, const RecordFacts& facts,
    const std::vector<std::string>& whole, const RecordWindow& window) const {
  if (options_.labels == LabelSource::kNone) return std::vector<int64_t>();
  const std::string where = "record \"" + recording.path() + "\", frames [" +
                            std::to_string(window.from) + ", " +
                            std::to_string(window.from + window.frames) + ")";
  if (options_.labels != LabelSource::kAnnotation) {
    return options_.classes.Places(whole, where);
  }
  const double fs = recording.fs();
  return options_.classes.Places(
      LabelsWithin(facts.spans, static_cast<double>(window.from) / fs,
                   static_cast<double>(window.from + window.frames) / fs,
                   options_.classes.is_multi),
      where);
}

int64_t RecordSet::GroupOf(const Recording& recording,
                           const RecordFacts& facts) {
  std::string value = facts.group;
  if (options_.group == LabelSource::kRecord) value = recording.path();
  if (options_.group == LabelSource::kCsv) {
    value = FromCsv(csv_groups_, recording, facts);
  }
  if (value.empty()) {
    RefuseSet(recording.path(), options_.group == LabelSource::kCsv
                                    ? "its cell in column \"" +
                                          options_.group_column +
                                          "\" is empty; a group is needed"
                                    : "has no comment that tells its group");
  }
  const auto next = static_cast<int64_t>(group_places_.size());
  return group_places_.emplace(value, next).first->second;
}

void RecordSet::AddBeats(const Recording& recording, const RecordFacts& facts,
                         int64_t group) {
  const auto place = static_cast<int64_t>(parts_.recordings.size());
  for (const BeatLabel& beat : facts.beats) {
    const int64_t label = options_.classes.Find(beat.symbol);
    if (label < 0) continue;
    const auto window =
        WindowAbout(place, recording.num_frames(), recording.fs(),
                    std::llround(beat.at * recording.fs()), options_.windows);
    if (!window) continue;
    parts_.windows.push_back(*window);
    places_.push_back({label});
    groups_.push_back(group);
  }
}

void RecordSet::Add(std::shared_ptr<const Recording> recording,
                    const RecordFacts& facts) {
  std::vector<std::string> whole;
  if (options_.labels == LabelSource::kComment) {
    whole = SplitLabels(facts.label);
  } else if (options_.labels == LabelSource::kCsv) {
    whole = SplitLabels(FromCsv(csv_labels_, *recording, facts));
  }
  const int64_t group = GroupOf(*recording, facts);
  if (options_.labels == LabelSource::kBeat) {
    AddBeats(*recording, facts, group);
    parts_.recordings.push_back(std::move(recording));
    return;
  }
  const auto place = static_cast<int64_t>(parts_.recordings.size());
  for (const RecordWindow& window : CutWindows(
           place, recording->num_frames(), recording->fs(), options_.windows)) {
    auto labels = LabelsOf(*recording, facts, whole, window);
    if (!labels) continue;
    parts_.windows.push_back(window);
    places_.push_back(std::move(*labels));
    groups_.push_back(group);
  }
  parts_.recordings.push_back(std::move(recording));
}

std::shared_ptr<Dataset> RecordSet::Finish() {
  if (parts_.windows.empty()) {
    if (!parts_.unreadable.empty()) throw parts_.unreadable.front();
    RefuseSet(options_.records,
              "gives no window; all are shorter than one, or have no known "
              "label");
  }
  if (options_.labels != LabelSource::kNone) {
    parts_.target = options_.classes.Target(places_);
  }
  parts_.group = at::tensor(groups_, at::kLong);
  at::Tensor names = at::empty({std::ssize(group_places_)}, at::kLong);
  for (const auto& [name, place] : group_places_) {
    names.mutable_data_ptr<int64_t>()[place] = HashOf(name);
  }
  parts_.group_names = names.index_select(0, parts_.group);
  return std::make_shared<RecordWindows>(std::move(parts_), options_.windows);
}

}  // namespace epochd::engine
