// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/record_windows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/parse_number.h"
#include "worker/engine/data/column.h"

namespace epochd::engine {
namespace {

constexpr int64_t kMaxWindows = int64_t{1} << 31;

int64_t FramesOf(double seconds, double fs, const char* what) {
  const double frames = std::nearbyint(seconds * fs);
  if (!(frames >= 1) || frames > 1e15) {
    throw Error(ErrorKind::kBadSpec,
                std::string(what) + " of " + std::to_string(seconds) +
                    " s at " + std::to_string(fs) +
                    " samples a second has no whole number of samples from 1");
  }
  return static_cast<int64_t>(frames);
}

// Without overflow: recordings have at most 2^48 frames (wfdb_header.cc; EDF's
// lie in a file), and parts of a ratio are at most 10,000.
int64_t ResampledLength(int64_t frames, const Ratio& ratio) {
  return (frames * ratio.up + ratio.down - 1) / ratio.down;
}

}  // namespace

namespace {

// Which of `names`, where several are `lead`.
[[noreturn]] void RefuseTwice(const std::vector<std::string>& names,
                              const std::string& lead,
                              const std::string& subject) {
  std::string numbers;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string number = std::to_string(i);
    // A name goes before a number.
    if (names[i] == lead &&
        std::find(names.begin(), names.end(), number) == names.end()) {
      numbers += (numbers.empty() ? "" : " or ") + number;
    }
  }
  throw Error(ErrorKind::kBadSpec,
              subject + ": lead \"" + lead + "\" stands more than once; " +
                  (numbers.empty() ? "its signals need other labels"
                                   : "name it by number: " + numbers));
}

}  // namespace

std::vector<int> ChooseLeads(const std::vector<std::string>& names,
                             const std::vector<std::string>& leads,
                             bool may_miss, const std::string& subject) {
  std::vector<int> chosen(leads.empty() ? names.size() : 0);
  std::iota(chosen.begin(), chosen.end(), 0);
  const auto count = static_cast<int>(names.size());
  for (const std::string& lead : leads) {
    const auto named = std::find(names.begin(), names.end(), lead);
    if (std::count(named, names.end(), lead) > 1) {
      RefuseTwice(names, lead, subject);
    }
    int signal = static_cast<int>(named - names.begin());
    if (signal == count) signal = ParseNumber<int>(lead).value_or(-1);
    if (signal >= count) signal = -1;
    if (signal < 0 && !may_miss) {
      std::string known;
      for (const std::string& name : names) {
        known += (known.empty() ? "" : ", ") + name;
      }
      throw Error(ErrorKind::kBadSpec,
                  subject + ": has no lead \"" + lead + "\"; it has " + known);
    }
    chosen.push_back(std::max(signal, -1));
  }
  return chosen;
}

std::vector<RecordWindow> CutWindows(int64_t recording, int64_t num_frames,
                                     double fs, const WindowOptions& options) {
  if (options.window == 0) {
    if (num_frames == 0) return {};
    return {{.recording = recording, .from = 0, .frames = num_frames}};
  }
  const int64_t window = FramesOf(options.window, fs, "a window");
  const int64_t stride =
      options.stride == 0 ? window : FramesOf(options.stride, fs, "a stride");
  std::vector<RecordWindow> windows;
  if (num_frames / stride > kMaxWindows) {
    throw Error(ErrorKind::kBadSpec, "a stride of " +
                                         std::to_string(options.stride) +
                                         " s gives too many windows");
  }
  int64_t from = 0;
  for (; from + window <= num_frames; from += stride) {
    windows.push_back({.recording = recording, .from = from, .frames = window});
  }
  const int64_t covered =
      windows.empty() ? 0 : windows.back().from + windows.back().frames;
  if (options.pad_rest && covered < num_frames && from < num_frames) {
    windows.push_back(
        {.recording = recording, .from = from, .frames = num_frames - from});
  }
  return windows;
}

std::optional<RecordWindow> WindowAbout(int64_t recording, int64_t num_frames,
                                        double fs, int64_t frame,
                                        const WindowOptions& options) {
  const int64_t window = FramesOf(options.window, fs, "a window");
  const int64_t from = frame - window / 2;
  if (from < 0 || window > num_frames - from) return std::nullopt;
  return RecordWindow{.recording = recording, .from = from, .frames = window};
}

RecordWindows::RecordWindows(Parts parts, const WindowOptions& options)
    : parts_(std::move(parts)), options_(options) {
  const auto& recordings = parts_.recordings;
  if (options_.fs == 0) {
    for (const auto& recording : recordings) {
      if (recording->fs() != recordings.front()->fs()) {
        throw Error(ErrorKind::kBadSpec,
                    "record \"" + recording->path() + "\" has " +
                        std::to_string(recording->fs()) +
                        " samples a second, \"" + recordings.front()->path() +
                        "\" " + std::to_string(recordings.front()->fs()) +
                        "; `fs` brings them to one rate");
      }
    }
    return;
  }
  for (const auto& recording : recordings) {
    ratios_.push_back(ResampleRatio(recording->fs(), options_.fs));
  }
}

int64_t RecordWindows::LengthOf(const RecordWindow& window) const {
  const Recording& recording = *parts_.recordings[window.recording];
  const double fs = ratios_.empty() ? recording.fs() : options_.fs;
  if (options_.window > 0) return FramesOf(options_.window, fs, "a window");
  if (ratios_.empty()) return window.frames;
  return ResampledLength(window.frames, ratios_[window.recording]);
}

at::Tensor RecordWindows::Read(const RecordWindow& window) const {
  const Recording& recording = *parts_.recordings[window.recording];
  const Ratio ratio = ratios_.empty() ? Ratio{} : ratios_[window.recording];
  const bool resamples = ratio.up != ratio.down;
  // The filter of ResamplePoly reaches so far; multiples of `down`, so that
  // the new samples fall on the window's own.
  int64_t margin = 0;
  if (resamples) {
    const int64_t reach = 10 * std::max(ratio.up, ratio.down) / ratio.up + 1;
    margin = (reach + ratio.down - 1) / ratio.down * ratio.down;
  }
  int64_t before = std::min(margin, window.from);
  const int64_t end = window.from + window.frames;
  const int64_t after = std::min(margin, recording.num_frames() - end);
  at::Tensor signal = recording.Read(window.from - before, end + after);
  signal.nan_to_num_(options_.fill, options_.fill, options_.fill);
  if (resamples) {
    // What lies before the record is its first sample, as behind it the last.
    const int64_t missing = (ratio.down - before % ratio.down) % ratio.down;
    if (missing > 0) {
      signal = at::cat(
          {signal.slice(1, 0, 1).expand({signal.size(0), missing}), signal}, 1);
      before += missing;
    }
    signal = ResamplePoly(signal, ratio.up, ratio.down, ResampleEdge::kRepeat);
  }
  const int64_t length = LengthOf(window);
  const int64_t skip = before / ratio.down * ratio.up;
  // A window that was cut short ends where its own samples end.
  const int64_t own = ResampledLength(window.frames, ratio);
  const int64_t kept = std::min({length, own, signal.size(1) - skip});
  signal = signal.slice(1, skip, skip + kept);
  if (kept < length) {
    signal = at::constant_pad_nd(signal, {0, length - kept}, options_.fill);
  }
  return signal.contiguous();
}

Batch RecordWindows::Get(int64_t index, const SampleSeed& /*seed*/) const {
  const RecordWindow& window = parts_.windows[index];
  Batch sample;
  try {
    sample.Set("input", Read(window));
  } catch (const Error& error) {
    throw Error(error.kind(), "sample " + std::to_string(index) + " (frames [" +
                                  std::to_string(window.from) + ", " +
                                  std::to_string(window.from + window.frames) +
                                  ") of \"" +
                                  parts_.recordings[window.recording]->path() +
                                  "\"): " + error.what());
  }
  if (parts_.target.defined()) {
    sample.Set("target", parts_.target.select(0, index));
  }
  return sample;
}

std::string RecordWindows::SampleName(int64_t index) const {
  const RecordWindow& window = parts_.windows[index];
  return parts_.recordings[window.recording]->path() + " [" +
         std::to_string(window.from) + ", " +
         std::to_string(window.from + window.frames) + ")";
}

at::Tensor RecordWindows::Column(std::string_view field) const {
  if (field == "target") return parts_.target;
  if (field == "group") return parts_.group;
  if (field == NamesOf("group")) return parts_.group_names;
  if (field == "length") {
    at::Tensor lengths = at::empty({Size()}, at::kLong);
    auto* out = lengths.mutable_data_ptr<int64_t>();
    for (const RecordWindow& window : parts_.windows) *out++ = LengthOf(window);
    return lengths;
  }
  return {};
}

}  // namespace epochd::engine
