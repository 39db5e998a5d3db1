// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/edf_records.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/signal/edf.h"
#include "worker/engine/data/signal/record_folders.h"

namespace epochd::engine {
namespace {

class EdfRecording : public Recording {
 public:
  EdfRecording(EdfFile file, const RecordOptions& options)
      : file_(std::move(file)) {
    std::vector<std::string> names;
    for (const EdfSignal& each : file_.signals()) names.push_back(each.label);
    signals_ = ChooseLeads(names, options.leads, options.zero_missing_leads,
                           "EDF file \"" + file_.path() + "\"");
    for (int signal : signals_) {
      if (signal < 0) continue;
      if (num_frames_ < 0) {
        fs_ = file_.fs(signal);
        num_frames_ = file_.num_samples(signal);
      }
      if (file_.num_samples(signal) != num_frames_) {
        Refuse("signal \"" + file_.signals()[signal].label + "\" has " +
               std::to_string(file_.fs(signal)) +
               " samples a second, another " + std::to_string(fs_) +
               "; `leads` of one rate are needed");
      }
    }
    if (num_frames_ < 0) Refuse("has none of the leads");
  }
  const std::string& path() const override { return file_.path(); }
  double fs() const override { return fs_; }
  int64_t num_frames() const override { return num_frames_; }
  std::vector<LeadFacts> Leads() const {
    std::vector<LeadFacts> leads(signals_.size());
    for (size_t i = 0; i < signals_.size(); ++i) {
      if (signals_[i] < 0) continue;
      const EdfSignal& signal = file_.signals()[signals_[i]];
      leads[i] = {
          .is_there = true, .name = signal.label, .units = signal.units};
    }
    return leads;
  }
  at::Tensor Read(int64_t from, int64_t to) const override {
    at::Tensor out =
        at::full({static_cast<int64_t>(signals_.size()), to - from},
                 std::numeric_limits<float>::quiet_NaN(), at::kFloat);
    for (size_t i = 0; i < signals_.size(); ++i) {
      if (signals_[i] < 0) continue;
      out[static_cast<int64_t>(i)].copy_(file_.Physical(signals_[i], from, to));
    }
    return out;
  }

 private:
  [[noreturn]] void Refuse(const std::string& problem) const {
    throw Error(ErrorKind::kBadSpec,
                "EDF file \"" + file_.path() + "\": " + problem);
  }
  const EdfFile file_;
  std::vector<int> signals_;  // -1: the file has not that one
  double fs_ = 0;
  int64_t num_frames_ = -1;
};

std::vector<std::string> ListEdfFiles(const std::string& records) {
  std::error_code error;
  if (!std::filesystem::is_directory(records, error)) return {records};
  std::vector<std::string> paths;
  std::set<std::string> seen;
  VisitFolders(records, seen, [&paths](const std::string& folder) {
    const size_t before = paths.size();
    for (const std::string& entry : EntriesOf(folder)) {
      const std::string extension = std::filesystem::path(entry).extension();
      if (extension == ".edf" || extension == ".bdf" || extension == ".EDF" ||
          extension == ".BDF") {
        paths.push_back(entry);
      }
    }
    return paths.size() > before;
  });
  if (paths.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "records \"" + records + "\": holds no .edf or .bdf file");
  }
  return paths;
}

// What the annotations that name a class say of the time after them.
std::vector<LabelSpan> SpansOf(std::vector<EdfAnnotation> annotations,
                               const ClassRule& classes) {
  std::stable_sort(annotations.begin(), annotations.end(),
                   [](const EdfAnnotation& a, const EdfAnnotation& b) {
                     return a.onset < b.onset;
                   });
  std::vector<LabelSpan> spans;
  bool is_open = false;  // the last one has no end of its own
  for (const EdfAnnotation& each : annotations) {
    if (classes.Find(each.text) < 0) continue;
    if (is_open) spans.back().to = each.onset;
    is_open = !(each.duration > 0);
    spans.push_back({.from = each.onset,
                     .to = is_open ? std::numeric_limits<double>::infinity()
                                   : each.onset + each.duration,
                     .label = each.text});
  }
  return spans;
}

}  // namespace

std::shared_ptr<Dataset> LoadEdfRecords(const RecordOptions& options) {
  RecordSet set(options);
  for (const std::string& path : ListEdfFiles(options.records)) {
    std::optional<EdfFile> file;
    const std::filesystem::path name(path);
    RecordFacts facts{
        .names = {PlaceBelow(options.records,
                             (name.parent_path() / name.stem()).string()),
                  name.stem().string()}};
    const bool is_open = set.Open([&] {
      file.emplace(path);
      if (options.labels == LabelSource::kAnnotation) {
        facts.spans = SpansOf(file->Annotations(), options.classes);
      }
    });
    if (!is_open) continue;
    auto recording =
        std::make_shared<const EdfRecording>(std::move(*file), options);
    facts.leads = recording->Leads();
    set.Add(std::move(recording), facts);
  }
  return set.Finish();
}

}  // namespace epochd::engine
