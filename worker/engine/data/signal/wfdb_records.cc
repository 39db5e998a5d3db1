// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_records.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/signal/record_folders.h"

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
      .names = {PlaceBelow(options.records, listed),
                fs::path(listed).stem().string(), record.name()},
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

// Lists records of folders and of lists that name records and folders.
class RecordLister {
 public:
  const std::vector<std::string>& paths() const { return paths_; }

  void AddFolder(const std::string& folder) {
    const auto take = [this](const std::string& each) {
      const fs::path list = fs::path(each) / "RECORDS";
      std::error_code error;
      if (!fs::exists(list, error) || fs::is_directory(list, error)) {
        return AddHeaders(each);
      }
      AddList(list);
      return true;
    };
    if (!VisitFolders(folder, seen_, take)) {
      RefuseRecords(folder, "holds no header (.hea)");
    }
  }

  void AddList(const fs::path& file) {
    const std::string text = ReadFileBytes(file.string(), kMaxListBytes);
    bool is_empty = true;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
        line.pop_back();
      }
      if (line.empty()) continue;
      is_empty = false;
      if (line.ends_with(".hea")) line.resize(line.size() - 4);
      const std::string path = (file.parent_path() / line).string();
      if (line.ends_with("/")) {
        AddFolder(path);
      } else {
        paths_.push_back(path);
      }
    }
    if (is_empty) RefuseRecords(file.string(), "lists no record");
  }

 private:
  // Of every header that is no segment of another. False: there is none.
  bool AddHeaders(const std::string& folder) {
    std::set<std::string> found;
    std::set<std::string> segments;
    for (const std::string& entry : EntriesOf(folder)) {
      const fs::path path(entry);
      if (path.extension() != ".hea") continue;
      found.insert(path.stem().string());
      try {
        for (const WfdbSegment& segment : ReadWfdbHeader(entry).segments) {
          segments.insert(segment.name);
        }
      } catch (const Error&) {
        // Told when it is opened.
      }
    }
    const size_t before = paths_.size();
    for (const std::string& name : found) {
      if (!segments.contains(name)) {
        paths_.push_back((fs::path(folder) / name).string());
      }
    }
    return paths_.size() > before;
  }

  std::vector<std::string> paths_;
  std::set<std::string> seen_;  // folders, links resolved
};

}  // namespace

std::vector<std::string> ListWfdbRecords(const std::string& records) {
  std::error_code error;
  if (!fs::exists(records, error)) {
    RefuseRecords(records,
                  "is not there; a folder, a list of records or a "
                  "header (.hea) is needed");
  }
  RecordLister lister;
  const bool is_folder = fs::is_directory(records, error);
  if (is_folder) {
    lister.AddFolder(records);
  } else if (records.ends_with(".hea")) {
    return {records.substr(0, records.size() - 4)};
  } else {
    lister.AddList(records);
  }
  // Folders may hold or list nothing but each other.
  if (lister.paths().empty()) {
    RefuseRecords(records,
                  is_folder ? "holds no header (.hea)" : "lists no record");
  }
  return lister.paths();
}

std::shared_ptr<Dataset> LoadWfdbRecords(const WfdbRecordsOptions& options) {
  RecordSet set(options);
  for (const std::string& path : ListWfdbRecords(options.records)) {
    std::shared_ptr<const WfdbRecord> record;
    RecordFacts facts;
    const bool is_open = set.Open([&] {
      record = std::make_shared<const WfdbRecord>(path, options.checksums);
      facts = FactsOf(*record, path, options);
    });
    if (!is_open) continue;
    std::vector<int> signals = ChooseSignals(*record, options);
    if (options.verify && !set.Open([&] {
          record->Physical(0, record->num_frames(), signals);
        })) {
      continue;
    }
    for (int signal : signals) {
      const bool is_there = signal >= 0;
      facts.leads.push_back(
          {.is_there = is_there,
           .name = is_there ? record->signals()[signal].description : "",
           .units = is_there ? record->signals()[signal].units : ""});
    }
    set.Add(
        std::make_shared<WfdbRecording>(std::move(record), std::move(signals)),
        facts);
  }
  return set.Finish();
}

}  // namespace epochd::engine
