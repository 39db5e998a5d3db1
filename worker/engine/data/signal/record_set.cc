// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/record_set.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "worker/engine/data/column.h"

namespace epochd::engine {
namespace {

[[noreturn]] void RefuseSet(const std::string& path,
                            const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "records \"" + path + "\": " + problem);
}

// As written, but for the signs that micro has: "u", and "µ" in Latin-1 and as
// either of Unicode's.
std::string PlainUnits(std::string units) {
  constexpr std::string_view kBlanks = " \t\r";
  units.erase(0, std::min(units.find_first_not_of(kBlanks), units.size()));
  units.erase(units.find_last_not_of(kBlanks) + 1);
  for (const std::string_view micro : {"\xc2\xb5", "\xce\xbc", "\xb5"}) {
    const size_t at = units.find(micro);
    if (at != std::string::npos) units.replace(at, micro.size(), "u");
  }
  return units;
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
                               const RecordFacts& facts) {
  for (const std::string& name : facts.names) {
    const auto found = table.find(name);
    if (found == table.end()) continue;
    const auto& [_, user] = *csv_users_.emplace(name, recording.path()).first;
    if (user != recording.path()) {
      RefuseSet(recording.path(),
                "\"" + name + "\" of \"" + options_.label_file +
                    "\" is what \"" + user + "\" is called, too; \"" +
                    facts.names.front() + "\" names this one alone");
    }
    return found->second;
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

void RecordSet::AddWindows(const Recording& recording,
                           const RecordFacts& facts) {
  std::vector<std::string> whole;
  if (options_.labels == LabelSource::kComment) {
    whole = SplitLabels(facts.label);
  } else if (options_.labels == LabelSource::kCsv) {
    whole = SplitLabels(FromCsv(csv_labels_, recording, facts));
  }
  const int64_t group = GroupOf(recording, facts);
  if (options_.labels == LabelSource::kBeat) {
    AddBeats(recording, facts, group);
    return;
  }
  const auto place = static_cast<int64_t>(parts_.recordings.size());
  for (const RecordWindow& window : CutWindows(
           place, recording.num_frames(), recording.fs(), options_.windows)) {
    auto labels = LabelsOf(recording, facts, whole, window);
    if (!labels) continue;
    parts_.windows.push_back(window);
    places_.push_back(std::move(*labels));
    groups_.push_back(group);
  }
}

void RecordSet::CompareUnits(const Recording& recording,
                             const RecordFacts& facts) {
  for (size_t row = 0; row < facts.leads.size(); ++row) {
    const LeadFacts& lead = facts.leads[row];
    if (!lead.is_there) continue;
    const std::string units = PlainUnits(lead.units);
    const FirstUnits& first =
        units_.try_emplace(row, FirstUnits{units, recording.path()})
            .first->second;
    if (first.units == units) continue;
    if (mixed_units_.empty()) {
      units_problem_ = "lead \"" +
                       (lead.name.empty() ? std::to_string(row) : lead.name) +
                       "\" is in \"" + first.units + "\" in \"" + first.path +
                       "\" and in \"" + units + "\" in \"" + recording.path() +
                       "\"; values are taken as they are";
    }
    mixed_units_.insert(row);
  }
}

void RecordSet::Add(std::shared_ptr<const Recording> recording,
                    const RecordFacts& facts) {
  const size_t before = parts_.windows.size();
  AddWindows(*recording, facts);
  if (parts_.windows.size() > before) CompareUnits(*recording, facts);
  parts_.recordings.push_back(std::move(recording));
}

std::shared_ptr<Dataset> RecordSet::Finish() {
  if (parts_.windows.empty()) {
    if (!parts_.unreadable.empty()) throw parts_.unreadable.front();
    RefuseSet(options_.records,
              "gives no window; all are shorter than one, or have no known "
              "label");
  }
  if (!mixed_units_.empty() && options_.notice) {
    const size_t others = mixed_units_.size() - 1;
    options_.notice(units_problem_ +
                    (others == 0 ? ""
                                 : "; the units of " + std::to_string(others) +
                                       " other leads differ, too"));
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
