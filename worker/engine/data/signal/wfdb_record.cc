// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_record.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/random_access_file.h"
#include "worker/engine/data/refuse_file.h"
#include "worker/engine/data/signal/wfdb_samples.h"

namespace epochd::engine {
namespace {

// Of what a call may return; no window that anyone trains on comes near.
constexpr int64_t kMaxSamples = int64_t{1} << 30;

constexpr float kNoSample = std::numeric_limits<float>::quiet_NaN();

[[noreturn]] void RefuseRecord(const std::string& path,
                               const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "WFDB record \"" + path + "\": " + problem);
}

std::string FileBeside(const std::string& header, const std::string& name) {
  return (std::filesystem::path(header).parent_path() / name).string();
}

std::string HeaderPath(const std::string& path) {
  return path.ends_with(".hea") ? path : path + ".hea";
}

}  // namespace

WfdbRecord::WfdbRecord(const std::string& path, ChecksumPolicy checksums,
                       bool is_segment)
    : path_(HeaderPath(path)),
      checksums_(checksums),
      header_(ReadWfdbHeader(path_)) {
  if (header_.is_multi_segment()) {
    if (is_segment) {
      RefuseWfdbHeader(path_, header_.line,
                       "is a segment of a record and has segments itself");
    }
    OpenSegments();
  } else {
    signals_ = &header_.signals;
    has_warned_ = std::vector<std::atomic<bool>>(header_.signals.size());
    OpenFiles();
  }
}

void WfdbRecord::OpenFiles() {
  const std::vector<WfdbSignal>& signals = header_.signals;
  int64_t available = std::numeric_limits<int64_t>::max();
  for (size_t first = 0; first < signals.size();) {
    FileGroup group{.path = FileBeside(path_, signals[first].file),
                    .first = first};
    while (first < signals.size() &&
           signals[first].file == signals[group.first].file) {
      group.frame_samples += signals[first].samples_per_frame;
      ++group.count;
      ++first;
    }
    // A layout's signals, and nothing to read.
    if (signals[group.first].file == "~") continue;
    const RandomAccessFile file(group.path);
    const WfdbSignal& signal = signals[group.first];
    const WfdbFormat& format = *FindWfdbFormat(signal.format);
    const int64_t bytes =
        std::max<int64_t>(file.num_bytes() - signal.byte_offset, 0);
    const int64_t frames = format.SamplesIn(bytes) / group.frame_samples;
    if (header_.num_frames && frames < *header_.num_frames) {
      RefuseFile(
          "WFDB file", group.path, static_cast<uint64_t>(file.num_bytes()),
          "ends after " + std::to_string(frames) + " frames of format " +
              std::to_string(signal.format) + " from byte " +
              std::to_string(signal.byte_offset) + "; its header tells of " +
              std::to_string(*header_.num_frames));
    }
    available = std::min(available, frames);
    groups_.push_back(std::move(group));
  }
  num_frames_ = header_.num_frames.value_or(groups_.empty() ? 0 : available);
}

void WfdbRecord::OpenSegments() {
  for (size_t i = 0; i < header_.segments.size(); ++i) {
    const WfdbSegment& segment = header_.segments[i];
    starts_.push_back(num_frames_);
    segments_.push_back(nullptr);
    if (segment.name == "~") {
      num_frames_ += segment.num_frames;
      continue;
    }
    const std::string path = FileBeside(path_, segment.name);
    std::unique_ptr<WfdbRecord> opened(
        new WfdbRecord(path, checksums_, /*is_segment=*/true));
    if (opened->fs() != fs()) {
      RefuseWfdbHeader(path_, segment.line,
                       "segment \"" + segment.name + "\" has " +
                           std::to_string(opened->fs()) +
                           " frames a second, the record " +
                           std::to_string(fs()));
    }
    if (i == 0 && header_.has_variable_layout()) {
      layout_ = std::move(opened);
      continue;
    }
    if (opened->num_frames() != segment.num_frames) {
      RefuseWfdbHeader(path_, segment.line,
                       "segment \"" + segment.name + "\" has " +
                           std::to_string(opened->num_frames()) +
                           " frames; the record's header tells of " +
                           std::to_string(segment.num_frames));
    }
    num_frames_ += segment.num_frames;
    segments_.back() = std::move(opened);
  }
  if (header_.num_frames && *header_.num_frames != num_frames_) {
    RefuseWfdbHeader(path_, header_.line,
                     "its segments have " + std::to_string(num_frames_) +
                         " frames; its header tells of " +
                         std::to_string(*header_.num_frames));
  }
  const WfdbRecord* first = layout_.get();
  for (const auto& segment : segments_) {
    if (first == nullptr) first = segment.get();
  }
  if (first == nullptr) {
    RefuseWfdbHeader(path_, header_.line, "has nothing but gaps");
  }
  signals_ = &first->signals();
  if (signals_->size() != header_.num_signals) {
    RefuseWfdbHeader(path_, header_.line,
                     "tells of " + std::to_string(header_.num_signals) +
                         " signals, its first segment has " +
                         std::to_string(signals_->size()));
  }
  for (size_t number = 0; number < segments_.size(); ++number) {
    const auto& segment = segments_[number];
    if (segment == nullptr) continue;
    const size_t line = header_.segments[number].line;
    if (layout_ == nullptr && segment->signals().size() != signals_->size()) {
      RefuseWfdbHeader(path_, line,
                       "segment \"" + segment->name() + "\" has " +
                           std::to_string(segment->signals().size()) +
                           " signals, the first one " +
                           std::to_string(signals_->size()));
    }
    for (size_t i = 0; i < signals_->size(); ++i) {
      const int place = SignalIn(*segment, static_cast<int>(i));
      if (place >= 0 && segment->signals()[place].samples_per_frame !=
                            signals()[i].samples_per_frame) {
        RefuseWfdbHeader(path_, line,
                         "segment \"" + segment->name() +
                             "\" has another number of samples per frame "
                             "in signal " +
                             std::to_string(i));
      }
    }
  }
}

int WfdbRecord::FindSignal(const std::string& description) const {
  for (size_t i = 0; i < signals().size(); ++i) {
    if (signals()[i].description == description) return static_cast<int>(i);
  }
  return -1;
}

int WfdbRecord::SignalIn(const WfdbRecord& segment, int signal) const {
  if (layout_ == nullptr) return signal;
  const std::string& description = signals()[signal].description;
  // Of several that are called so, the one at the same place among them.
  int before = 0;
  for (int i = 0; i < signal; ++i) {
    before += signals()[i].description == description ? 1 : 0;
  }
  for (size_t i = 0; i < segment.signals().size(); ++i) {
    if (segment.signals()[i].description == description && before-- == 0) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

void WfdbRecord::CheckWindow(int64_t from, int64_t to) const {
  if (from < 0 || to < from || to > num_frames_) {
    RefuseRecord(path_, "frames [" + std::to_string(from) + ", " +
                            std::to_string(to) + ") are asked for; it has " +
                            std::to_string(num_frames_));
  }
}

template <class Visit>
void WfdbRecord::VisitSegments(int64_t from, int64_t to, Visit visit) const {
  size_t i = std::upper_bound(starts_.begin(), starts_.end(), from) -
             starts_.begin() - 1;
  for (; i < segments_.size() && starts_[i] < to; ++i) {
    const int64_t begin = std::max(from, starts_[i]);
    const int64_t end =
        std::min(to, starts_[i] + header_.segments[i].num_frames);
    if (segments_[i] == nullptr || begin >= end) continue;
    visit(*segments_[i], begin - starts_[i], end - starts_[i], begin - from);
  }
}

WfdbRecord::Frames WfdbRecord::ReadFrames(
    const FileGroup& group, int64_t from, int64_t to,
    const std::vector<int>& signals) const {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = 0;
  for (int signal : signals) {
    const auto place = static_cast<size_t>(signal);
    if (signal < 0 || place < group.first ||
        place >= group.first + group.count) {
      continue;
    }
    least = std::min(least, header_.signals[place].skew);
    most = std::max(most, header_.signals[place].skew);
  }
  // None of them lies in this file.
  if (least > most) return {};
  Frames frames{.begin = std::min(from + least, num_frames_),
                .end = std::min(to + most, num_frames_)};
  const WfdbSignal& signal = header_.signals[group.first];
  const WfdbFormat& format = *FindWfdbFormat(signal.format);
  const int64_t first = frames.begin * group.frame_samples;
  const int64_t count = (frames.end - frames.begin) * group.frame_samples;
  if (count <= 0) return {};
  if (count > kMaxSamples) {
    RefuseRecord(path_, "frames [" + std::to_string(from) + ", " +
                            std::to_string(to) + ") are " +
                            std::to_string(count) + " samples; at most " +
                            std::to_string(kMaxSamples) + " are read at once");
  }
  const int64_t skip = first % format.block_samples;
  const int64_t block = first / format.block_samples * format.block_bytes;
  const RandomAccessFile file(group.path);
  std::vector<uint8_t> bytes(format.BytesOf(skip + count));
  file.Read(signal.byte_offset + block, bytes);
  frames.samples.resize(count);
  DecodeWfdb(format, bytes, skip, frames.samples);
  CheckSums(group, signals, frames);
  return frames;
}

void WfdbRecord::CheckSums(const FileGroup& group,
                           const std::vector<int>& signals,
                           const Frames& frames) const {
  if (checksums_ == ChecksumPolicy::kIgnore || frames.begin != 0 ||
      frames.end != num_frames_) {
    return;
  }
  int64_t offset = 0;
  for (size_t i = group.first; i < group.first + group.count; ++i) {
    const WfdbSignal& signal = header_.signals[i];
    const bool is_wanted = std::find(signals.begin(), signals.end(),
                                     static_cast<int>(i)) != signals.end();
    if (signal.checksum && is_wanted) {
      uint16_t sum = 0;
      for (size_t at = offset; at < frames.samples.size();
           at += group.frame_samples) {
        for (int k = 0; k < signal.samples_per_frame; ++k) {
          sum = static_cast<uint16_t>(sum + frames.samples[at + k]);
        }
      }
      if (sum != static_cast<uint16_t>(*signal.checksum)) {
        const std::string problem = FileProblem(
            "WFDB file", group.path, static_cast<uint64_t>(signal.byte_offset),
            "signal " + std::to_string(i) + " (\"" + signal.description +
                "\") sums to " + std::to_string(sum) +
                "; its header tells of " +
                std::to_string(static_cast<uint16_t>(*signal.checksum)));
        if (checksums_ == ChecksumPolicy::kError) {
          throw Error(ErrorKind::kBadSpec, problem);
        }
        // Once, though each epoch reads it again.
        if (!has_warned_[i].exchange(true)) TORCH_WARN(problem);
      }
    }
    offset += signal.samples_per_frame;
  }
}

void WfdbRecord::PhysicalInto(int64_t from, int64_t to,
                              const std::vector<int>& signals, float* out,
                              int64_t stride) const {
  if (header_.is_multi_segment()) {
    VisitSegments(from, to,
                  [&](const WfdbRecord& segment, int64_t begin, int64_t end,
                      int64_t place) {
                    std::vector<int> theirs;
                    for (int signal : signals)
                      theirs.push_back(SignalIn(segment, signal));
                    segment.PhysicalInto(begin, end, theirs, out + place,
                                         stride);
                  });
    return;
  }
  for (const FileGroup& group : groups_) {
    const Frames frames = ReadFrames(group, from, to, signals);
    if (frames.samples.empty()) continue;
    const int32_t invalid =
        FindWfdbFormat(header_.signals[group.first].format)->invalid;
    for (size_t row = 0; row < signals.size(); ++row) {
      const auto place = static_cast<size_t>(signals[row]);
      if (signals[row] < 0 || place < group.first ||
          place >= group.first + group.count) {
        continue;
      }
      const WfdbSignal& signal = header_.signals[place];
      int64_t offset = 0;
      for (size_t i = group.first; i < place; ++i) {
        offset += header_.signals[i].samples_per_frame;
      }
      const int64_t begin = from + signal.skew;
      const int64_t end = std::min(to + signal.skew, frames.end);
      // Moved out of the record by its skew.
      if (begin >= end) continue;
      float* to_row = out + static_cast<int64_t>(row) * stride;
      const double baseline = static_cast<double>(signal.baseline);
      const int32_t* at = frames.samples.data() +
                          (begin - frames.begin) * group.frame_samples + offset;
      for (int64_t frame = begin; frame < end; ++frame) {
        double sum = 0;
        bool is_valid = true;
        for (int k = 0; k < signal.samples_per_frame; ++k) {
          is_valid = is_valid && at[k] != invalid;
          sum += (at[k] - baseline) / signal.gain;
        }
        *to_row++ = is_valid
                        ? static_cast<float>(sum / signal.samples_per_frame)
                        : kNoSample;
        at += group.frame_samples;
      }
    }
  }
}

at::Tensor WfdbRecord::Physical(int64_t from, int64_t to,
                                const std::vector<int>& signals) const {
  CheckWindow(from, to);
  for (int signal : signals) {
    if (signal < 0 || signal >= static_cast<int>(this->signals().size())) {
      RefuseRecord(path_, "signal " + std::to_string(signal) +
                              " is asked for; it has " +
                              std::to_string(this->signals().size()));
    }
  }
  const auto rows = static_cast<int64_t>(signals.size());
  if (rows > 0 && (to - from) > kMaxSamples / rows) {
    RefuseRecord(
        path_, "frames [" + std::to_string(from) + ", " + std::to_string(to) +
                   ") of " + std::to_string(rows) + " signals are too many; " +
                   std::to_string(kMaxSamples) + " samples are read at once");
  }
  at::Tensor out = at::full({rows, to - from}, kNoSample, at::kFloat);
  PhysicalInto(from, to, signals, out.mutable_data_ptr<float>(), to - from);
  return out;
}

}  // namespace epochd::engine
