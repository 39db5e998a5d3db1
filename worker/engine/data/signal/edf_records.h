// SPDX-License-Identifier: Apache-2.0
//
// EDF and BDF files as a data set: windows of chosen signals, at one rate, with
// labels and groups from a CSV file (record_windows.h, record_labels.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/signal/record_labels.h"
#include "worker/engine/data/signal/record_windows.h"

namespace epochd::engine {

struct EdfRecordsOptions {
  std::string records = {};  // a folder of .edf and .bdf files, or one file
  std::vector<std::string> leads = {};  // by label, or number; empty: all
  bool zero_missing_leads = false;
  WindowOptions windows = {};
  std::string label_file = {};  // CSV; empty: no labels
  std::string record_column = "record";
  std::string label_column = "label";
  ClassRule classes = {};
  std::string group_column = {};  // of the CSV file; empty: each file a group
};

// Throws Error(kBadSpec) naming the file; chosen signals of one file must have
// one rate.
std::shared_ptr<Dataset> LoadEdfRecords(const EdfRecordsOptions& options);

}  // namespace epochd::engine
