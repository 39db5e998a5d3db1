// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/edf_records.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/signal/edf.h"

namespace epochd::engine {
namespace {

class EdfRecording : public Recording {
 public:
  // `signals`: -1 where the file has not that one.
  EdfRecording(const std::string& path, const EdfRecordsOptions& options)
      : file_(path) {
    std::vector<std::string> names;
    for (const EdfSignal& each : file_.signals()) names.push_back(each.label);
    signals_ = ChooseLeads(names, options.leads, options.zero_missing_leads,
                           "EDF file \"" + path + "\"");
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
  std::vector<int> signals_;
  double fs_ = 0;
  int64_t num_frames_ = -1;
};

std::vector<std::string> ListEdfFiles(const std::string& records) {
  std::error_code error;
  if (!std::filesystem::is_directory(records, error)) return {records};
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(records)) {
    const std::string extension = entry.path().extension();
    if (extension == ".edf" || extension == ".bdf" || extension == ".EDF" ||
        extension == ".BDF") {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "records \"" + records + "\": holds no .edf or .bdf file");
  }
  return paths;
}

}  // namespace

std::shared_ptr<Dataset> LoadEdfRecords(const EdfRecordsOptions& options) {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> groups;
  if (!options.label_file.empty()) {
    labels = LabelsByRecord(options.label_file, options.record_column,
                            options.label_column);
    if (!options.group_column.empty()) {
      groups = LabelsByRecord(options.label_file, options.record_column,
                              options.group_column);
    }
  }
  RecordWindows::Parts parts;
  std::vector<std::vector<int64_t>> places;
  std::vector<int64_t> group_numbers;
  std::map<std::string, int64_t> group_places;
  for (const std::string& path : ListEdfFiles(options.records)) {
    auto recording = std::make_shared<EdfRecording>(path, options);
    const std::string name = std::filesystem::path(path).stem().string();
    std::vector<int64_t> own_places;
    std::string group = path;
    if (!options.label_file.empty()) {
      const auto found = labels.find(name);
      if (found == labels.end()) {
        throw Error(ErrorKind::kBadSpec, "EDF file \"" + path + "\": \"" +
                                             name + "\" is not in \"" +
                                             options.label_file + "\"");
      }
      auto known = options.classes.Places(SplitLabels(found->second),
                                          "EDF file \"" + path + "\"");
      if (!known) continue;
      own_places = std::move(*known);
      if (!options.group_column.empty()) group = groups.at(name);
    }
    const auto next = static_cast<int64_t>(group_places.size());
    const int64_t group_number =
        group_places.emplace(group, next).first->second;
    const auto place = static_cast<int64_t>(parts.recordings.size());
    for (const RecordWindow& window :
         CutWindows(place, recording->num_frames(), recording->fs(),
                    options.windows)) {
      parts.windows.push_back(window);
      places.push_back(own_places);
      group_numbers.push_back(group_number);
    }
    parts.recordings.push_back(std::move(recording));
  }
  if (parts.windows.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "records \"" + options.records + "\": gives no window");
  }
  if (!options.label_file.empty()) {
    parts.target = options.classes.Target(places);
  }
  parts.group = at::tensor(group_numbers, at::kLong);
  return std::make_shared<RecordWindows>(std::move(parts), options.windows);
}

}  // namespace epochd::engine
