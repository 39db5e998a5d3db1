// SPDX-License-Identifier: Apache-2.0
//
// EDF and EDF+ recordings (16-bit samples; Kemp et al. 1992, Kemp and Olivan
// 2003) and their 24-bit form BDF. Opening reads the header only; a window
// reads the data records that it lies in. Interrupted recordings (EDF+D) are
// refused, since samples would not be where time says. Immutable once opened;
// any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace epochd::engine {

struct EdfSignal {
  std::string label = {};
  std::string units = {};
  double physical_min = 0;
  double physical_max = 0;
  int64_t digital_min = 0;
  int64_t digital_max = 0;
  int64_t samples_per_record = 0;
  int64_t byte_offset = 0;  // within a data record
};

// Of EDF+: a text at a time, in seconds from the start.
struct EdfAnnotation {
  double onset = 0;
  double duration = -1;  // -1: not told
  std::string text = {};

  bool operator==(const EdfAnnotation&) const = default;
};

class EdfFile {
 public:
  // Throws Error(kBadSpec) naming file, byte and field.
  explicit EdfFile(const std::string& path);

  const std::string& path() const { return path_; }
  // Those that hold samples.
  const std::vector<EdfSignal>& signals() const { return signals_; }
  double fs(int signal) const;
  int64_t num_samples(int signal) const;

  // Samples [from, to) of one signal: float32 in its units, or int32.
  at::Tensor Physical(int signal, int64_t from, int64_t to) const;
  at::Tensor Digital(int signal, int64_t from, int64_t to) const;
  // Of EDF+, in order of the file; empty: plain EDF. Throws Error(kBadSpec)
  // naming file and byte.
  std::vector<EdfAnnotation> Annotations() const;

 private:
  void ParseHeader();

  std::string path_;
  std::vector<EdfSignal> signals_;
  std::vector<EdfSignal> annotation_signals_;
  int sample_bytes_ = 2;  // 3: BDF
  int64_t header_bytes_ = 0;
  int64_t record_bytes_ = 0;
  int64_t num_records_ = 0;
  double record_seconds_ = 0;
};

}  // namespace epochd::engine
