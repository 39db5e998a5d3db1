// SPDX-License-Identifier: Apache-2.0
//
// What data sets of recordings have in common, whatever format these come in:
// a recording's windows get labels and a group, and all become one data set.
// One thread.
//
//   RecordSet set(options);
//   for (path : paths) {
//     set.Open([&] { recording = ...; facts = ...; });  // or counted
//     set.Add(recording, facts);
//   }
//   return set.Finish();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/signal/record_labels.h"
#include "worker/engine/data/signal/record_windows.h"

namespace epochd::engine {

// Where labels or groups come from.
enum class LabelSource { kNone, kRecord, kComment, kAnnotation, kBeat, kCsv };

struct RecordOptions {
  std::string records = {};             // a folder, a file, or a list
  std::vector<std::string> leads = {};  // by name, or number from 0; empty: all
  bool zero_missing_leads = false;  // a record without a lead has zeros there
  WindowOptions windows = {};
  LabelSource labels = LabelSource::kNone;
  ClassRule classes = {};
  LabelSource group = LabelSource::kRecord;
  std::string label_file = {};  // CSV, for labels and groups
  std::string record_column = "record";
  std::string label_column = "label";
  std::string group_column = "patient";
  // Is told what people should know, in words; nobody by default.
  std::function<void(const std::string& text)> notice = {};
};

// What stands in a row of a recording's signal.
struct LeadFacts {
  bool is_there = false;  // else the recording has not that lead
  std::string name = {};
  std::string units = {};
};

// What a recording itself tells of its leads, its labels and its group.
struct RecordFacts {
  std::vector<LeadFacts> leads = {};  // by row
  // By which a CSV file may know it; the first is its alone.
  std::vector<std::string> names = {};
  std::string label = {};  // from a comment
  std::string group = {};
  std::vector<LabelSpan> spans = {};  // from annotations
  std::vector<BeatLabel> beats = {};
};

class RecordSet {
 public:
  // Reads the CSV file where one is needed. `options` outlives this.
  explicit RecordSet(const RecordOptions& options);

  // Runs `open`; false: it threw an Error, and the record is left out as one
  // that could not be opened.
  template <class OpenRecord>
  bool Open(const OpenRecord& open) {
    try {
      open();
      return true;
    } catch (const Error& error) {
      parts_.unreadable.push_back(error);
      return false;
    }
  }
  // Adds its windows. Throws Error(kBadSpec) naming the record: a label that is
  // no class, none, no group, or a row of the CSV file that another record has.
  void Add(std::shared_ptr<const Recording> recording,
           const RecordFacts& facts);
  // Throws Error(kBadSpec) where there is no window: what the first record that
  // could not be opened threw, if any. Tells `options.notice` of a lead whose
  // units differ between records.
  std::shared_ptr<Dataset> Finish();

 private:
  // Windows about the beats that are of a class.
  void AddBeats(const Recording& recording, const RecordFacts& facts,
                int64_t group);
  // Nothing: leave the window out.
  std::optional<std::vector<int64_t>> LabelsOf(
      const Recording& recording, const RecordFacts& facts,
      const std::vector<std::string>& whole, const RecordWindow& window) const;
  int64_t GroupOf(const Recording& recording, const RecordFacts& facts);
  std::string FromCsv(const std::map<std::string, std::string>& table,
                      const Recording& recording, const RecordFacts& facts);
  void AddWindows(const Recording& recording, const RecordFacts& facts);
  void CompareUnits(const Recording& recording, const RecordFacts& facts);

  const RecordOptions& options_;
  std::map<std::string, std::string> csv_labels_;
  std::map<std::string, std::string> csv_groups_;
  std::map<std::string, std::string> csv_users_;  // the path by the row's name
  std::map<std::string, int64_t> group_places_;
  // By row: in which units it is, and in which recording first.
  struct FirstUnits {
    std::string units = {};
    std::string path = {};
  };
  std::map<size_t, FirstUnits> units_;
  std::set<size_t> mixed_units_;  // rows
  std::string units_problem_;     // of the first of them
  RecordWindows::Parts parts_;
  std::vector<std::vector<int64_t>> places_;  // of labels, by window
  std::vector<int64_t> groups_;               // by window
};

}  // namespace epochd::engine
