// SPDX-License-Identifier: Apache-2.0
//
// WFDB headers: the text file NAME.hea that says what a record consists of and
// where its samples lie, as header(5) of the WFDB Applications Guide defines
// it. Pure functions over text; any thread. A header may come from anywhere:
// counts are bounded and file names may not leave the header's folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epochd::engine {

struct WfdbSignal {
  std::string file = {};  // beside the header; "~": no samples (layout, gap)
  int format = 0;
  int samples_per_frame = 1;
  int64_t skew = 0;         // frames that this signal comes late in the file
  int64_t byte_offset = 0;  // of the file's first sample
  double gain = 200;        // ADC units per physical unit
  int64_t baseline = 0;     // ADC units at physical 0; default: adc_zero
  std::string units = "mV";
  int adc_resolution = 0;  // bits; 0: not told
  int64_t adc_zero = 0;
  std::optional<int64_t> initial_value = {};
  std::optional<int64_t> checksum = {};  // 16-bit sum of all samples
  int64_t block_size = 0;
  std::string description = {};  // such as the lead's name
  size_t line = 0;               // of the header, from 1
};

struct WfdbSegment {
  std::string name = {};  // of a record; "~": a gap
  int64_t num_frames = 0;
  size_t line = 0;  // of the header, from 1
};

struct WfdbHeader {
  std::string name = {};
  size_t line = 0;  // that tells of the record, from 1
  double fs = 250;  // frames per second
  double counter_frequency = 0;
  double base_counter = 0;
  std::optional<int64_t> num_frames = {};  // not told: follows from file sizes
  std::string base_time = {};
  std::string base_date = {};
  size_t num_signals = 0;
  std::vector<WfdbSignal> signals =
      {};  // empty in a record of several segments
  std::vector<WfdbSegment> segments = {};  // empty in a plain record
  std::vector<std::string> comments = {};  // lines after '#', blanks stripped

  bool is_multi_segment() const { return !segments.empty(); }
  // The first segment is a layout: it has no samples, but says which signals
  // there are; each other one holds some of them.
  bool has_variable_layout() const {
    return is_multi_segment() && segments.front().num_frames == 0;
  }
};

// Throws Error(kBadSpec): WFDB header "`path`" line `line`: `problem`.
[[noreturn]] void RefuseWfdbHeader(const std::string& path, size_t line,
                                   const std::string& problem);

// Throws Error(kBadSpec) naming `path` and the line.
WfdbHeader ParseWfdbHeader(std::string_view text, const std::string& path);

// Of the file `path`, at most 16 MiB.
WfdbHeader ReadWfdbHeader(const std::string& path);

}  // namespace epochd::engine
