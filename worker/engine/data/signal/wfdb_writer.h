// SPDX-License-Identifier: Apache-2.0
//
// Writes WFDB records that any WFDB software reads: one header, one file of
// format 16, and annotations. Throws Error(kInfrastructure) naming the file.
#pragma once

#include <string>
#include <vector>

#include "worker/engine/data/signal/wfdb_annotation.h"

namespace epochd::engine {

struct WfdbContent {
  double fs = 250;
  double gain = 1000;  // ADC units per unit
  std::string units = "mV";
  std::vector<std::string> names = {};           // of the signals
  std::vector<std::vector<float>> signals = {};  // as many samples each
  std::vector<std::string> comments = {};
};

// Creates FOLDER/NAME.hea and NAME.dat; samples beyond 16 bits are clipped.
void WriteWfdbRecord(const std::string& folder, const std::string& name,
                     const WfdbContent& content);

// Bytes of an annotation file, in order of `annotations`; times may not go
// back. Codes, times and aux are written, of up to 255 bytes.
std::string EncodeWfdbAnnotations(
    const std::vector<WfdbAnnotation>& annotations);

}  // namespace epochd::engine
