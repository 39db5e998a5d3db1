// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_records.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/file_bytes.h"

namespace epochd::engine {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxListBytes = 256 << 20;

[[noreturn]] void RefuseRecords(const std::string& path,
                                const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "records \"" + path + "\": " + problem);
}

// The chosen leads of a WFDB record.
class WfdbRecording : public Recording {
 public:
  WfdbRecording(std::shared_ptr<const WfdbRecord> record,
                std::vector<int> signals)
      : record_(std::move(record)), signals_(std::move(signals)) {
    for (int signal : signals_) {
      if (signal >= 0) present_.push_back(signal);
    }
  }
  const std::string& path() const override { return record_->path(); }
  double fs() const override { return record_->fs(); }
  int64_t num_frames() const override { return record_->num_frames(); }
  at::Tensor Read(int64_t from, int64_t to) const override {
    at::Tensor present = record_->Physical(from, to, present_);
    if (present_.size() == signals_.size()) return present;
    // NaN becomes what stands for samples that are not there.
    at::Tensor all =
        at::full({static_cast<int64_t>(signals_.size()), to - from},
                 std::numeric_limits<float>::quiet_NaN());
    int64_t next = 0;
    for (size_t i = 0; i < signals_.size(); ++i) {
      if (signals_[i] >= 0) all[static_cast<int64_t>(i)].copy_(present[next++]);
    }
    return all;
  }

 private:
  const std::shared_ptr<const WfdbRecord> record_;
  const std::vector<int> signals_;  // -1: the record has not this one
  std::vector<int> present_;
};

std::vector<int> ChooseSignals(const WfdbRecord& record,
                               const WfdbRecordsOptions& options) {
  std::vector<std::string> names;
  for (const WfdbSignal& each : record.signals()) {
    names.push_back(each.description);
  }
  return ChooseLeads(names, options.leads, options.zero_missing_leads,
                     "records \"" + record.path() + "\"");
}

// Labels of a record's windows.
class Labeller {
 public:
  explicit Labeller(const WfdbRecordsOptions& options) : options_(options) {
    if (options.labels == LabelSource::kCsv) {
      labels_ = LabelsByRecord(options.label_file, options.record_column,
                               options.label_column);
    }
    if (options.group == LabelSource::kCsv) {
      groups_ = LabelsByRecord(options.label_file, options.record_column,
                               options.group_column);
    }
  }

  // Prepares for the windows of `record`, named `name` in lists.
  void Begin(const WfdbRecord& record, const std::string& name) {
    record_ = &record;
    name_ = name;
    switch (options_.labels) {
      case LabelSource::kComment:
        whole_ =
            SplitLabels(CommentValue(record.comments(), options_.label_key));
        break;
      case LabelSource::kCsv:
        whole_ = SplitLabels(FromCsv(labels_));
        break;
      case LabelSource::kRhythm: {
        std::string path = record.path();
        path.resize(path.size() - std::string_view("hea").size());
        rhythms_ = Rhythms(ReadWfdbAnnotations(path + options_.annotations),
                           record.fs());
        break;
      }
      default:
        break;
    }
  }

  // Nothing: leave the window out.
  std::optional<std::vector<int64_t>> Places(const RecordWindow& window) const {
    if (options_.labels == LabelSource::kNone) return std::vector<int64_t>();
    const std::string where = "record \"" + record_->path() + "\", frames [" +
                              std::to_string(window.from) + ", " +
                              std::to_string(window.from + window.frames) + ")";
    if (options_.labels != LabelSource::kRhythm) {
      return options_.classes.Places(whole_, where);
    }
    const double fs = record_->fs();
    return options_.classes.Places(
        RhythmsWithin(rhythms_, static_cast<double>(window.from) / fs,
                      static_cast<double>(window.from + window.frames) / fs,
                      options_.classes.is_multi),
        where);
  }

  int64_t Group() {
    std::string value;
    if (options_.group == LabelSource::kRecord) {
      value = record_->path();
    } else if (options_.group == LabelSource::kCsv) {
      value = FromCsv(groups_);
    } else {
      value = CommentValue(record_->comments(), options_.group_key);
    }
    if (value.empty()) {
      RefuseRecords(record_->path(),
                    "has no group; a comment \"" + options_.group_key +
                        ": ...\" or a cell in column \"" +
                        options_.group_column + "\" is needed");
    }
    const auto next = static_cast<int64_t>(group_places_.size());
    return group_places_.emplace(value, next).first->second;
  }

 private:
  std::string FromCsv(const std::map<std::string, std::string>& table) const {
    for (const std::string& key :
         {name_, record_->name(), fs::path(name_).filename().string()}) {
      const auto found = table.find(key);
      if (found != table.end()) return found->second;
    }
    RefuseRecords(record_->path(), "is not in \"" + options_.label_file + "\"");
  }

  const WfdbRecordsOptions& options_;
  std::map<std::string, std::string> labels_;
  std::map<std::string, std::string> groups_;
  std::map<std::string, int64_t> group_places_;
  const WfdbRecord* record_ = nullptr;
  std::string name_;
  std::vector<std::string> whole_;
  std::vector<Rhythm> rhythms_;
};

std::vector<std::string> ReadList(const fs::path& file) {
  const std::string text = ReadFileBytes(file.string(), kMaxListBytes);
  std::vector<std::string> records;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
      line.pop_back();
    }
    if (line.empty()) continue;
    if (line.ends_with(".hea")) line.resize(line.size() - 4);
    records.push_back((file.parent_path() / line).string());
  }
  if (records.empty()) RefuseRecords(file.string(), "lists no record");
  return records;
}

}  // namespace

std::vector<std::string> ListWfdbRecords(const std::string& records) {
  std::error_code error;
  if (!fs::is_directory(records, error)) {
    if (!fs::exists(records, error)) {
      RefuseRecords(records,
                    "is not there; a folder, a list of records or a "
                    "header (.hea) is needed");
    }
    if (records.ends_with(".hea")) {
      return {records.substr(0, records.size() - 4)};
    }
    return ReadList(records);
  }
  if (fs::exists(fs::path(records) / "RECORDS", error)) {
    return ReadList(fs::path(records) / "RECORDS");
  }
  std::set<std::string> found;
  std::set<std::string> segments;
  for (const auto& entry : fs::directory_iterator(records)) {
    if (entry.path().extension() != ".hea") continue;
    found.insert(entry.path().stem().string());
    for (const WfdbSegment& segment :
         ReadWfdbHeader(entry.path().string()).segments) {
      segments.insert(segment.name);
    }
  }
  std::vector<std::string> paths;
  for (const std::string& name : found) {
    if (!segments.contains(name)) {
      paths.push_back((fs::path(records) / name).string());
    }
  }
  if (paths.empty()) RefuseRecords(records, "holds no header (.hea)");
  return paths;
}

std::shared_ptr<Dataset> LoadWfdbRecords(const WfdbRecordsOptions& options) {
  RecordWindows::Parts parts;
  Labeller labeller(options);
  std::vector<std::vector<int64_t>> places;
  std::vector<int64_t> groups;
  const bool has_groups = options.group != LabelSource::kNone;
  for (const std::string& path : ListWfdbRecords(options.records)) {
    auto record = std::make_shared<const WfdbRecord>(path, options.checksums);
    std::vector<int> signals = ChooseSignals(*record, options);
    labeller.Begin(*record, fs::path(path).stem().string());
    const auto place = static_cast<int64_t>(parts.recordings.size());
    const int64_t group = has_groups ? labeller.Group() : 0;
    for (const RecordWindow& window : CutWindows(
             place, record->num_frames(), record->fs(), options.windows)) {
      auto labels = labeller.Places(window);
      if (!labels) continue;
      parts.windows.push_back(window);
      places.push_back(std::move(*labels));
      groups.push_back(group);
    }
    if (options.verify) record->Physical(0, record->num_frames(), signals);
    parts.recordings.push_back(
        std::make_shared<WfdbRecording>(std::move(record), std::move(signals)));
  }
  if (parts.windows.empty()) {
    RefuseRecords(options.records,
                  "gives no window; all are shorter than one, "
                  "or have no known label");
  }
  if (options.labels != LabelSource::kNone) {
    parts.target = options.classes.Target(places);
  }
  if (has_groups) parts.group = at::tensor(groups, at::kLong);
  return std::make_shared<RecordWindows>(std::move(parts), options.windows);
}

}  // namespace epochd::engine
