// SPDX-License-Identifier: Apache-2.0
//
// A WFDB record: one header and the sample files beside it, or several
// segments in a row. Opening reads headers only; a window [from, to) reads no
// more of a file than it needs. Immutable once opened; any thread.
//
//   WfdbRecord record("data/100");                 // data/100.hea
//   at::Tensor ecg = record.Physical(0, 3600, {0, 1});   // [2, 3600], mV
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/data/signal/wfdb_header.h"

namespace epochd::engine {

// What to do about a signal whose checksum is not its header's. Checked where
// a signal is read from end to end; warned of once.
enum class ChecksumPolicy { kIgnore, kWarn, kError };

class WfdbRecord {
 public:
  // `path` with or without `.hea`. Throws Error(kBadSpec) naming file and line,
  // also where a sample file is missing or too short for its header.
  explicit WfdbRecord(const std::string& path,
                      ChecksumPolicy checksums = ChecksumPolicy::kWarn)
      : WfdbRecord(path, checksums, /*is_segment=*/false) {}

  const std::string& path() const { return path_; }
  const std::string& name() const { return header_.name; }
  double fs() const { return header_.fs; }
  int64_t num_frames() const { return num_frames_; }
  const std::vector<std::string>& comments() const { return header_.comments; }
  // In a record of several segments, those of its first one.
  const std::vector<WfdbSignal>& signals() const { return *signals_; }
  // Place of the signal with that description; -1: there is none.
  int FindSignal(const std::string& description) const;

  // Frames [from, to) of `signals`, float32 [signals, to - from] in physical
  // units; several samples of a frame are averaged. NaN: no sample (invalid,
  // within a gap, or moved out by its skew).
  at::Tensor Physical(int64_t from, int64_t to,
                      const std::vector<int>& signals) const;

 private:
  WfdbRecord(const std::string& path, ChecksumPolicy checksums,
             bool is_segment);

  // Signals that lie in one file, one after the other in the header.
  struct FileGroup {
    std::string path = {};
    size_t first = 0;
    size_t count = 0;
    int64_t frame_samples = 0;
  };
  // Frames [begin, end) of one file, flat as they lie there.
  struct Frames {
    int64_t begin = 0;
    int64_t end = 0;
    std::vector<int32_t> samples = {};
  };

  void OpenFiles();
  void OpenSegments();
  void CheckWindow(int64_t from, int64_t to) const;
  // What of `group` frames [from, to) of `signals` (places here) need.
  Frames ReadFrames(const FileGroup& group, int64_t from, int64_t to,
                    const std::vector<int>& signals) const;
  void CheckSums(const FileGroup& group, const std::vector<int>& signals,
                 const Frames& frames) const;
  // Writes frames [from, to) of `signals` to rows `stride` apart. A signal of
  // -1 is left alone.
  void PhysicalInto(int64_t from, int64_t to, const std::vector<int>& signals,
                    float* out, int64_t stride) const;
  // Which of the segment's signals stands for `signal`; -1: none.
  int SignalIn(const WfdbRecord& segment, int signal) const;
  // Calls `visit(segment, from, to, place)` for each that has frames of
  // [from, to): its own frames, and where they go.
  template <class Visit>
  void VisitSegments(int64_t from, int64_t to, Visit visit) const;

  std::string path_;  // of the header
  const ChecksumPolicy checksums_;
  WfdbHeader header_;
  int64_t num_frames_ = 0;
  std::vector<FileGroup> groups_;                      // of a plain record
  mutable std::vector<std::atomic<bool>> has_warned_;  // of its signals' sums
  // Of a record of several segments; nullptr: a gap, or the layout.
  std::vector<std::unique_ptr<WfdbRecord>> segments_;
  std::unique_ptr<WfdbRecord> layout_;
  std::vector<int64_t> starts_;  // first frame of each segment
  const std::vector<WfdbSignal>* signals_ = nullptr;
};

}  // namespace epochd::engine
