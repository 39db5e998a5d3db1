// SPDX-License-Identifier: Apache-2.0
//
// WFDB records of a folder as a data set: windows of chosen leads, at one
// rate, with labels and groups (record_set.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/signal/record_set.h"
#include "worker/engine/data/signal/wfdb_record.h"

namespace epochd::engine {

// `records`: a folder (its file RECORDS, or else every header that is no
// segment of another, or else what the folders in it hold), a file that lists
// records, or folders by a "/" at the end, or one header. Annotations tell
// rhythms, or beats: a window about each.
struct WfdbRecordsOptions : RecordOptions {
  std::string label_key = "Dx";     // of the comment
  std::string annotations = "atr";  // the file's extension
  std::string group_key = "Patient";
  ChecksumPolicy checksums = ChecksumPolicy::kWarn;
  bool verify = false;  // read every record once, checksums included
};

// Paths of headers, without `.hea`, in order. Throws Error(kBadSpec).
std::vector<std::string> ListWfdbRecords(const std::string& records);

// Reads every header and, for labels, annotations. Throws Error(kBadSpec)
// naming the record; one that cannot be read is left out, and told by
// Unreadable().
std::shared_ptr<Dataset> LoadWfdbRecords(const WfdbRecordsOptions& options);

}  // namespace epochd::engine
