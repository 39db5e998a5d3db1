// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_records.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
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

// What a record tells, as far as it is asked for.
RecordFacts FactsOf(const WfdbRecord& record, const std::string& listed,
                    const WfdbRecordsOptions& options) {
  RecordFacts facts{
      .names = {listed, record.name()},
      .label = CommentValue(record.comments(), options.label_key),
      .group = CommentValue(record.comments(), options.group_key)};
  if (options.labels != LabelSource::kAnnotation &&
      options.labels != LabelSource::kBeat) {
    return facts;
  }
  std::string path = record.path();
  path.resize(path.size() - std::string_view("hea").size());
  const WfdbAnnotations annotations =
      ReadWfdbAnnotations(path + options.annotations);
  if (options.labels == LabelSource::kBeat) {
    facts.beats = Beats(annotations, record.fs());
  } else {
    facts.spans = Rhythms(annotations, record.fs());
  }
  return facts;
}

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
    try {
      for (const WfdbSegment& segment :
           ReadWfdbHeader(entry.path().string()).segments) {
        segments.insert(segment.name);
      }
    } catch (const Error&) {
      // Told when it is opened.
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
  RecordSet set(options);
  for (const std::string& path : ListWfdbRecords(options.records)) {
    std::shared_ptr<const WfdbRecord> record;
    RecordFacts facts;
    const bool is_open = set.Open([&] {
      record = std::make_shared<const WfdbRecord>(path, options.checksums);
      facts = FactsOf(*record, fs::path(path).stem().string(), options);
    });
    if (!is_open) continue;
    std::vector<int> signals = ChooseSignals(*record, options);
    if (options.verify && !set.Open([&] {
          record->Physical(0, record->num_frames(), signals);
        })) {
      continue;
    }
    set.Add(
        std::make_shared<WfdbRecording>(std::move(record), std::move(signals)),
        facts);
  }
  return set.Finish();
}

}  // namespace epochd::engine
