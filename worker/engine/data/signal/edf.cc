// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/edf.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "worker/engine/core/error.h"
#include "worker/engine/core/parse_number.h"
#include "worker/engine/data/random_access_file.h"
#include "worker/engine/data/refuse_file.h"

namespace epochd::engine {
namespace {

constexpr int64_t kMaxEdfSignals = 4096;
constexpr int64_t kMaxRecordBytes = int64_t{1} << 30;
constexpr int64_t kMaxEdfSamples = int64_t{1} << 30;
constexpr int64_t kMaxAnnotationBytes = int64_t{1} << 30;

// Bytes of the header's fields.
constexpr int64_t kHeaderSizeByte = 184;
constexpr int64_t kKindByte = 192;
constexpr int64_t kNumRecordsByte = 236;
constexpr int64_t kDurationByte = 244;
// For each signal, the bytes before a field of one signal.
constexpr int64_t kPhysicalWidth = 104;
constexpr int64_t kDigitalWidth = 120;
constexpr int64_t kSamplesWidth = 216;

[[noreturn]] void RefuseEdf(const std::string& path, int64_t byte,
                            const std::string& problem) {
  RefuseFile("EDF file", path, static_cast<uint64_t>(byte), problem);
}

// A + may stand before it.
std::optional<double> SignedNumber(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return ParseNumber<double>(text);
}

std::string_view WithoutBlanks(std::string_view text) {
  // Some writers pad with zero bytes.
  constexpr std::string_view kBlank(" \t\r\n\0", 5);
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Fields of fixed width, one after the other.
class EdfFields {
 public:
  EdfFields(std::string_view bytes, const std::string& path)
      : bytes_(bytes), path_(path) {}

  std::string Text(size_t width) {
    const std::string_view field = bytes_.substr(at_, width);
    at_ += width;
    return std::string(WithoutBlanks(field));
  }
  double Number(size_t width, const char* what) {
    const size_t place = at_;
    const std::string text = Text(width);
    const auto value = SignedNumber(text);
    if (!value) {
      RefuseEdf(path_, static_cast<int64_t>(place),
                std::string(what) + " is \"" + text + "\"; a number is needed");
    }
    return *value;
  }
  int64_t Whole(size_t width, const char* what, int64_t least, int64_t most) {
    const size_t place = at_;
    const double value = Number(width, what);
    if (value != std::floor(value) || value < static_cast<double>(least) ||
        value > static_cast<double>(most)) {
      RefuseEdf(path_, static_cast<int64_t>(place),
                std::string(what) + " is " + std::to_string(value) +
                    "; a whole number from " + std::to_string(least) + " to " +
                    std::to_string(most) + " is needed");
    }
    return static_cast<int64_t>(value);
  }

 private:
  std::string_view bytes_;
  const std::string& path_;
  size_t at_ = 0;
};

std::string ReadText(const RandomAccessFile& file, int64_t offset,
                     int64_t size) {
  std::string bytes(size, '\0');
  file.Read(offset, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  return bytes;
}

int32_t EdfSample(const uint8_t* at, int bytes) {
  if (bytes == 2) return static_cast<int16_t>(at[0] | at[1] << 8);
  return static_cast<int32_t>((uint32_t{at[0]} << 8 | uint32_t{at[1]} << 16 |
                               uint32_t{at[2]} << 24)) >>
         8;
}

// One list of a time and texts: +onset[\x15duration]\x14text\x14...text\x14.
// `byte`: where it begins. Gives the time.
double ParseAnnotationList(const std::string_view whole, int64_t byte,
                           const std::string& path,
                           std::vector<EdfAnnotation>& found) {
  std::string_view list = whole;
  const auto place = [&](std::string_view part) {
    return byte + (part.data() - whole.data());
  };
  const auto number = [&](std::string_view text) {
    const auto value = SignedNumber(text);
    if (!value) {
      RefuseEdf(path, place(text),
                "an annotation's time is \"" + std::string(text.substr(0, 40)) +
                    "\"; a number is needed");
    }
    return *value;
  };
  const size_t end = list.find('\x14');
  if (end == std::string_view::npos) {
    RefuseEdf(path, byte, "an annotation's time does not end");
  }
  std::string_view time = list.substr(0, end);
  EdfAnnotation annotation;
  const size_t mark = time.find('\x15');
  if (mark != std::string_view::npos) {
    annotation.duration = number(time.substr(mark + 1));
    time = time.substr(0, mark);
  }
  annotation.onset = number(time);
  list.remove_prefix(end + 1);
  while (!list.empty()) {
    const size_t text_end = list.find('\x14');
    if (text_end == std::string_view::npos) {
      RefuseEdf(path, place(list), "an annotation does not end");
    }
    annotation.text = list.substr(0, text_end);
    // Without text it is the data record's own time.
    if (!annotation.text.empty()) found.push_back(annotation);
    list.remove_prefix(text_end + 1);
  }
  return annotation.onset;
}

}  // namespace

EdfFile::EdfFile(const std::string& path) : path_(path) { ParseHeader(); }

void EdfFile::ParseHeader() {
  const RandomAccessFile file(path_);
  if (file.num_bytes() < 256) {
    RefuseEdf(path_, file.num_bytes(), "ends; a header of 256 is needed");
  }
  const std::string head = ReadText(file, 0, 256);
  const bool is_bdf = head.starts_with(
      "\xff"
      "BIOSEMI");
  if (!is_bdf && WithoutBlanks(head.substr(0, 8)) != "0") {
    RefuseEdf(path_, 0, "does not begin with version 0 or BIOSEMI");
  }
  sample_bytes_ = is_bdf ? 3 : 2;
  EdfFields fields(head, path_);
  // Version, patient, recording, date and time are of no use here.
  fields.Text(8 + 80 + 80 + 8 + 8);
  header_bytes_ = fields.Whole(8, "the header's size", 256, 1 << 30);
  const std::string kind = fields.Text(44);
  num_records_ =
      fields.Whole(8, "the number of data records", -1, int64_t{1} << 40);
  record_seconds_ = fields.Number(8, "the duration of a data record");
  const int64_t count =
      fields.Whole(4, "the number of signals", 1, kMaxEdfSignals);
  if (kind.starts_with("EDF+D") || kind.starts_with("BDF+D")) {
    RefuseEdf(path_, kKindByte,
              "is an interrupted recording (" + kind.substr(0, 5) +
                  "); EDF, EDF+C, BDF and BDF+C are read");
  }
  if (header_bytes_ != 256 * (count + 1)) {
    RefuseEdf(path_, kHeaderSizeByte,
              "the header's size is " + std::to_string(header_bytes_) + "; " +
                  std::to_string(256 * (count + 1)) + " is needed for " +
                  std::to_string(count) + " signals");
  }
  // With their first 256 bytes, so that places in messages are the file's.
  const std::string all = ReadText(file, 0, header_bytes_);
  EdfFields told(all, path_);
  told.Text(256);
  std::vector<EdfSignal> signals(count);
  for (EdfSignal& each : signals) each.label = told.Text(16);
  told.Text(80 * count);  // transducers
  for (EdfSignal& each : signals) each.units = told.Text(8);
  for (EdfSignal& each : signals) {
    each.physical_min = told.Number(8, "a physical minimum");
  }
  for (EdfSignal& each : signals) {
    each.physical_max = told.Number(8, "a physical maximum");
  }
  constexpr int64_t kMost = int64_t{1} << 31;
  for (EdfSignal& each : signals) {
    each.digital_min = told.Whole(8, "a digital minimum", -kMost, kMost);
  }
  for (EdfSignal& each : signals) {
    each.digital_max = told.Whole(8, "a digital maximum", -kMost, kMost);
  }
  told.Text(80 * count);  // filters
  // The byte of what signal `number` has behind `width` bytes of each.
  const auto field = [count](int64_t width, int64_t number) {
    return 256 + width * count + 8 * number;
  };
  for (int64_t i = 0; i < count; ++i) {
    EdfSignal& each = signals[i];
    each.samples_per_record =
        told.Whole(8, "the samples of a data record", 1, kMaxRecordBytes);
    each.byte_offset = record_bytes_;
    record_bytes_ += each.samples_per_record * sample_bytes_;
    if (record_bytes_ > kMaxRecordBytes) {
      RefuseEdf(path_, field(kSamplesWidth, i),
                "a data record has more than 1 GiB");
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    const EdfSignal& each = signals[i];
    if (each.label == "EDF Annotations" || each.label == "BDF Annotations") {
      annotation_signals_.push_back(each);
      continue;
    }
    if (each.digital_max <= each.digital_min) {
      RefuseEdf(path_, field(kDigitalWidth, i),
                "signal \"" + each.label + "\" has no range of digital values");
    }
    if (each.physical_max == each.physical_min) {
      RefuseEdf(
          path_, field(kPhysicalWidth, i),
          "signal \"" + each.label + "\" has no range of physical values");
    }
    signals_.push_back(each);
  }
  if (!signals_.empty() && !(record_seconds_ > 0)) {
    RefuseEdf(path_, kDurationByte,
              "the duration of a data record is " +
                  std::to_string(record_seconds_) + "; it must be above 0");
  }
  const int64_t available = (file.num_bytes() - header_bytes_) / record_bytes_;
  if (num_records_ > available) {
    RefuseEdf(path_, file.num_bytes(),
              "ends after " + std::to_string(available) +
                  " data records; its header tells of " +
                  std::to_string(num_records_));
  }
  if (num_records_ < 0) num_records_ = available;
}

double EdfFile::fs(int signal) const {
  return static_cast<double>(signals_.at(signal).samples_per_record) /
         record_seconds_;
}

int64_t EdfFile::num_samples(int signal) const {
  return signals_.at(signal).samples_per_record * num_records_;
}

at::Tensor EdfFile::Digital(int signal, int64_t from, int64_t to) const {
  if (signal < 0 || signal >= static_cast<int>(signals_.size()) || from < 0 ||
      to < from || to > num_samples(signal) || to - from > kMaxEdfSamples) {
    throw Error(
        ErrorKind::kBadSpec,
        "EDF file \"" + path_ + "\": samples [" + std::to_string(from) + ", " +
            std::to_string(to) + ") of signal " + std::to_string(signal) +
            " are asked for; it has " + std::to_string(signals_.size()) +
            " signals" +
            (signal >= 0 && signal < static_cast<int>(signals_.size())
                 ? ", this one of " + std::to_string(num_samples(signal))
                 : ""));
  }
  at::Tensor out = at::empty({to - from}, at::kInt);
  if (to == from) return out;
  auto* values = out.mutable_data_ptr<int32_t>();
  const EdfSignal& told = signals_[signal];
  const int64_t each = told.samples_per_record;
  const RandomAccessFile file(path_);
  std::vector<uint8_t> bytes;
  for (int64_t record = from / each; record * each < to; ++record) {
    const int64_t first = std::max(from - record * each, int64_t{0});
    const int64_t last = std::min(to - record * each, each);
    bytes.resize((last - first) * sample_bytes_);
    file.Read(header_bytes_ + record * record_bytes_ + told.byte_offset +
                  first * sample_bytes_,
              bytes);
    for (int64_t i = 0; i < last - first; ++i) {
      *values++ = EdfSample(bytes.data() + i * sample_bytes_, sample_bytes_);
    }
  }
  return out;
}

at::Tensor EdfFile::Physical(int signal, int64_t from, int64_t to) const {
  const at::Tensor digital = Digital(signal, from, to);
  const EdfSignal& told = signals_[signal];
  const double unit = (told.physical_max - told.physical_min) /
                      static_cast<double>(told.digital_max - told.digital_min);
  // As EDFlib: an offset in digital units, then one multiplication.
  const double offset =
      told.physical_max / unit - static_cast<double>(told.digital_max);
  at::Tensor out = at::empty({to - from}, at::kFloat);
  const int32_t* in = digital.const_data_ptr<int32_t>();
  auto* values = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < to - from; ++i) {
    values[i] = static_cast<float>(unit * (offset + in[i]));
  }
  return out;
}

std::vector<EdfAnnotation> EdfFile::Annotations() const {
  std::vector<EdfAnnotation> found;
  const RandomAccessFile file(path_);
  for (const EdfSignal& told : annotation_signals_) {
    if (told.samples_per_record * sample_bytes_ >
        kMaxAnnotationBytes / std::max<int64_t>(num_records_, 1)) {
      RefuseEdf(path_, kNumRecordsByte,
                "its " + std::to_string(num_records_) +
                    " data records have more than 1 GiB of annotations");
    }
  }
  // When the first data record begins, a part of a second behind the start that
  // the header tells; onsets are told from that start, samples from the record.
  std::optional<double> begin_time;
  for (int64_t record = 0; record < num_records_; ++record) {
    for (const EdfSignal& told : annotation_signals_) {
      const int64_t first =
          header_bytes_ + record * record_bytes_ + told.byte_offset;
      const std::string bytes =
          ReadText(file, first, told.samples_per_record * sample_bytes_);
      for (size_t begin = 0; begin < bytes.size();) {
        const size_t end = std::min(bytes.find('\0', begin), bytes.size());
        if (end > begin) {
          const double time = ParseAnnotationList(
              std::string_view(bytes).substr(begin, end - begin),
              first + static_cast<int64_t>(begin), path_, found);
          if (!begin_time) begin_time = time;
        }
        begin = end + 1;
      }
    }
  }
  if (begin_time.value_or(0.0) != 0.0) {
    // Times are told in 100 ns at the finest.
    for (EdfAnnotation& each : found) {
      each.onset = std::round((each.onset - *begin_time) * 1e7) / 1e7;
    }
  }
  return found;
}

}  // namespace epochd::engine
