// SPDX-License-Identifier: Apache-2.0
//
// WFDB records of a folder as a data set: windows of chosen leads, at one
// rate, with labels and groups (record_windows.h, record_labels.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/signal/record_labels.h"
#include "worker/engine/data/signal/record_windows.h"
#include "worker/engine/data/signal/wfdb_record.h"

namespace epochd::engine {

// Where labels or groups come from.
enum class LabelSource { kNone, kRecord, kComment, kRhythm, kCsv };

struct WfdbRecordsOptions {
  // A folder (its file RECORDS, or else every header that is no segment of
  // another), a file that lists records, or one header.
  std::string records = {};
  std::vector<std::string> leads = {};  // by name, or number from 0; empty: all
  bool zero_missing_leads = false;  // a record without a lead has zeros there
  WindowOptions windows = {};
  LabelSource labels = LabelSource::kNone;
  std::string label_key = "Dx";     // of the comment
  std::string annotations = "atr";  // the file's extension
  std::string label_file = {};      // CSV, for labels and groups
  std::string record_column = "record";
  std::string label_column = "label";
  ClassRule classes = {};
  LabelSource group = LabelSource::kRecord;
  std::string group_key = "Patient";
  std::string group_column = "patient";
  ChecksumPolicy checksums = ChecksumPolicy::kWarn;
  bool verify = false;  // read every record once, checksums included
};

// Paths of headers, without `.hea`, in order. Throws Error(kBadSpec).
std::vector<std::string> ListWfdbRecords(const std::string& records);

// Reads every header and, for labels, annotations. Throws Error(kBadSpec)
// naming the record.
std::shared_ptr<Dataset> LoadWfdbRecords(const WfdbRecordsOptions& options);

}  // namespace epochd::engine
