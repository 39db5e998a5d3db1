// SPDX-License-Identifier: Apache-2.0
//
// EDF and BDF files as a data set: windows of chosen signals, at one rate, with
// labels from annotations or a CSV file, and groups (record_set.h).
#pragma once

#include <memory>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/signal/record_set.h"

namespace epochd::engine {

// `options.records`: a folder of .edf and .bdf files, or of folders of them, or
// one file. A CSV file knows a file by its name, or its path below the folder,
// without extension. Annotations that name no class
// are passed over; one without a duration holds until the next one that names
// a class. Chosen signals of one file must have one rate. Throws
// Error(kBadSpec) naming the file; one that cannot be opened is left out, and
// told by Unreadable().
std::shared_ptr<Dataset> LoadEdfRecords(const RecordOptions& options);

}  // namespace epochd::engine
