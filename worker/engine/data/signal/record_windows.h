// SPDX-License-Identifier: Apache-2.0
//
// A data set of windows cut out of long recordings: whatever format they come
// in, a sample is `input` float32 [leads, samples] and, with labels, `target`.
// Column() gives "target", "group" (whole numbers, such as the patient's
// place) and "length" (samples of each window) without reading a signal.
// Immutable; any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/signal/filter.h"

namespace epochd::engine {

// The chosen leads of one recording. Thread-safe.
class Recording {
 public:
  virtual ~Recording() = default;

  // Names it in messages.
  virtual const std::string& path() const = 0;
  virtual double fs() const = 0;
  virtual int64_t num_frames() const = 0;
  // float32 [leads, to - from]; NaN: no sample.
  virtual at::Tensor Read(int64_t from, int64_t to) const = 0;
};

struct WindowOptions {
  double window = 0;      // s; 0: whole recordings
  double stride = 0;      // s; 0: as the window
  bool pad_rest = false;  // a last, shorter window is filled up; else left out
  double fs = 0;          // of what is given; 0: the recordings', all the same
  double fill = 0;        // in place of samples that are not there
};

// Which of a recording's signals, `names`, are `leads`, by name or number; all
// where no lead is asked for. -1: it has not that one, where `may_miss`. Throws
// Error(kBadSpec), which begins with `subject`, where one misses otherwise, or
// where a name is that of several.
std::vector<int> ChooseLeads(const std::vector<std::string>& names,
                             const std::vector<std::string>& leads,
                             bool may_miss, const std::string& subject);

// Frames [from, from + frames) of a recording.
struct RecordWindow {
  int64_t recording = 0;
  int64_t from = 0;
  int64_t frames = 0;

  bool operator==(const RecordWindow&) const = default;
};

// The windows of a recording of `num_frames`. Throws Error(kBadSpec) where a
// window or stride has no frame, or there are too many.
std::vector<RecordWindow> CutWindows(int64_t recording, int64_t num_frames,
                                     double fs, const WindowOptions& options);

// The window about `frame`, which lies in its middle. Nothing: it does not lie
// in the recording as a whole. Throws Error(kBadSpec) where it has no frame.
std::optional<RecordWindow> WindowAbout(int64_t recording, int64_t num_frames,
                                        double fs, int64_t frame,
                                        const WindowOptions& options);

class RecordWindows : public Dataset {
 public:
  struct Parts {
    std::vector<std::shared_ptr<const Recording>> recordings = {};
    std::vector<RecordWindow> windows = {};
    at::Tensor target = {};       // [windows, ...]; undefined: no labels
    at::Tensor group = {};        // int64 [windows]; undefined: no groups
    at::Tensor group_names = {};  // NamesOf() them (data/column.h)
    std::vector<Error> unreadable = {};  // of recordings left out
  };

  // Throws Error(kBadSpec) naming a recording whose rate is another, where
  // `options.fs` is 0.
  RecordWindows(Parts parts, const WindowOptions& options);
  int64_t Size() const override {
    return static_cast<int64_t>(parts_.windows.size());
  }
  // Errors name the recording and the window's place in the data set.
  Batch Get(int64_t index, const SampleSeed& seed) const override;
  at::Tensor Column(std::string_view field) const override;
  std::vector<Error> Unreadable() const override { return parts_.unreadable; }
  // `path [from, to)`, frames of the recording.
  std::string SampleName(int64_t index) const override;

 private:
  int64_t LengthOf(const RecordWindow& window) const;
  at::Tensor Read(const RecordWindow& window) const;

  const Parts parts_;
  const WindowOptions options_;
  std::vector<Ratio> ratios_ =
      {};  // of each recording; empty: none is resampled
};

}  // namespace epochd::engine
