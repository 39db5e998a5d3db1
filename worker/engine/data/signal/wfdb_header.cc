// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_header.h"

#include <cmath>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/parse_number.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/signal/wfdb_samples.h"

namespace epochd::engine {
namespace {

constexpr int64_t kMaxHeaderFile = 16 << 20;
constexpr int64_t kMaxSignals = 4096;
constexpr int64_t kMaxSegments = 1000000;
constexpr int64_t kMaxPerFrame = 1000000;
constexpr int64_t kMaxFrames = int64_t{1} << 48;

constexpr std::string_view kBlanks = " \t\r\f\v";

std::string_view Stripped(std::string_view text, std::string_view blanks) {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Reads one line from left to right; its errors name file and line.
class HeaderLine {
 public:
  HeaderLine(std::string_view text, const std::string& path, size_t number)
      : rest_(text), path_(path), number_(number) {}

  size_t number() const { return number_; }
  [[noreturn]] void Fail(const std::string& problem) const {
    RefuseWfdbHeader(path_, number_, problem);
  }

  // The next word; empty: the line is over.
  std::string_view Word() {
    rest_ = Stripped(rest_, kBlanks);
    const size_t end = std::min(rest_.find_first_of(kBlanks), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }
  std::string_view Rest() { return Stripped(rest_, kBlanks); }

  // All of `word`, in [least, most].
  int64_t Whole(std::string_view word, const char* what, int64_t least,
                int64_t most) const {
    const auto value =
        ParseNumber<int64_t>(word.substr(word.starts_with('+') ? 1 : 0));
    if (!value || *value < least || *value > most) {
      Fail(std::string(what) + " is \"" + std::string(word) +
           "\"; a whole number from " + std::to_string(least) + " to " +
           std::to_string(most) + " is needed");
    }
    return *value;
  }
  double Number(std::string_view word, const char* what) const {
    const auto value = ParseNumber<double>(word);
    if (!value) {
      Fail(std::string(what) + " is \"" + std::string(word) +
           "\"; a number is needed");
    }
    return *value;
  }

 private:
  std::string_view rest_;
  const std::string& path_;
  const size_t number_;
};

// Cuts `text` at the first of `marks`; what follows is left in `text`, mark
// included.
std::string_view Take(std::string_view& text, std::string_view marks) {
  const size_t end = std::min(text.find_first_of(marks), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end);
  return taken;
}

// Takes the mark itself where `text` begins with it.
bool TakeMark(std::string_view& text, char mark) {
  if (text.empty() || text.front() != mark) return false;
  text.remove_prefix(1);
  return true;
}

// A name of something beside the header. Folders below it are let by; what
// leads out of it is not, nor "-", which means standard input.
std::string Beside(std::string_view name, const HeaderLine& line) {
  const bool leads_out =
      name.front() == '/' || name == ".." || name.starts_with("../") ||
      name.find("/../") != std::string_view::npos || name.ends_with("/..");
  if (leads_out || name == "-" || name.find('\0') != std::string_view::npos) {
    line.Fail("names the file \"" + std::string(name) +
              "\"; a file beside the header is needed");
  }
  return std::string(name);
}

void ParseRecordLine(HeaderLine& line, WfdbHeader& header) {
  std::string_view name = line.Word();
  header.name = Take(name, "/");
  if (header.name.empty()) line.Fail("has no record name");
  int64_t num_segments = 0;
  if (TakeMark(name, '/')) {
    num_segments = line.Whole(name, "the number of segments", 1, kMaxSegments);
  }
  header.segments.resize(num_segments);
  header.num_signals =
      line.Whole(line.Word(), "the number of signals", 0, kMaxSignals);
  std::string_view word = line.Word();
  if (word.empty()) return;
  header.fs = line.Number(Take(word, "/"), "the sampling frequency");
  if (!(header.fs > 0)) line.Fail("the sampling frequency is not above 0");
  if (TakeMark(word, '/')) {
    header.counter_frequency =
        line.Number(Take(word, "("), "the counter frequency");
    if (TakeMark(word, '(')) {
      header.base_counter = line.Number(Take(word, ")"), "the base counter");
      if (word != ")") line.Fail("the base counter is not closed by \")\"");
    }
  }
  word = line.Word();
  if (word.empty()) return;
  const int64_t frames =
      line.Whole(word, "the number of samples", 0, kMaxFrames);
  // 0 stands for "not told".
  if (frames > 0) header.num_frames = frames;
  header.base_time = line.Word();
  header.base_date = line.Word();
}

void ParseFormat(HeaderLine& line, std::string_view word, WfdbSignal& signal) {
  signal.format =
      static_cast<int>(line.Whole(Take(word, "x:+"), "the format", 0, 1 << 20));
  if (!FindWfdbFormat(signal.format) &&
      !(signal.format == 0 && signal.file == "~")) {
    line.Fail("the format is " + std::to_string(signal.format) + "; one of " +
              KnownWfdbFormats() + " is needed");
  }
  if (TakeMark(word, 'x')) {
    signal.samples_per_frame = static_cast<int>(
        line.Whole(Take(word, ":+"), "samples per frame", 1, kMaxPerFrame));
  }
  if (TakeMark(word, ':')) {
    signal.skew = line.Whole(Take(word, "+"), "the skew", 0, kMaxFrames);
  }
  if (TakeMark(word, '+')) {
    signal.byte_offset = line.Whole(word, "the byte offset", 0, kMaxFrames);
    word = {};
  }
  if (!word.empty()) {
    line.Fail("\"" + std::string(word) +
              "\" follows the format; xN, :N or +N "
              "is needed");
  }
}

// Gives whether a baseline was told.
bool ParseGain(HeaderLine& line, std::string_view word, WfdbSignal& signal) {
  bool has_baseline = false;
  const double gain = line.Number(Take(word, "(/"), "the gain");
  // 0: not calibrated, for which 200 stands.
  if (gain != 0) signal.gain = gain;
  if (TakeMark(word, '(')) {
    signal.baseline = line.Whole(Take(word, ")"), "the baseline",
                                 -(int64_t{1} << 32), int64_t{1} << 32);
    if (!TakeMark(word, ')')) line.Fail("the baseline is not closed by \")\"");
    has_baseline = true;
  }
  if (TakeMark(word, '/') && !word.empty()) {
    signal.units = word;
    word = {};
  }
  if (!word.empty()) {
    line.Fail("\"" + std::string(word) +
              "\" follows the gain; (BASELINE) or "
              "/UNITS is needed");
  }
  return has_baseline;
}

WfdbSignal ParseSignalLine(HeaderLine& line) {
  constexpr int64_t kMost = int64_t{1} << 40;
  WfdbSignal signal{.line = line.number()};
  signal.file = Beside(line.Word(), line);
  std::string_view word = line.Word();
  if (word.empty()) line.Fail("has no format");
  ParseFormat(line, word, signal);
  bool has_baseline = false;
  word = line.Word();
  if (!word.empty()) has_baseline = ParseGain(line, word, signal);
  word = line.Word();
  if (!word.empty()) {
    signal.adc_resolution =
        static_cast<int>(line.Whole(word, "the ADC resolution", 0, 64));
  }
  word = line.Word();
  if (!word.empty()) {
    signal.adc_zero = line.Whole(word, "the ADC zero", -kMost, kMost);
  }
  if (!has_baseline) signal.baseline = signal.adc_zero;
  word = line.Word();
  if (!word.empty()) {
    signal.initial_value = line.Whole(word, "the initial value", -kMost, kMost);
  }
  word = line.Word();
  if (!word.empty()) {
    signal.checksum = line.Whole(word, "the checksum", -kMost, kMost);
  }
  word = line.Word();
  if (!word.empty()) {
    signal.block_size = line.Whole(word, "the block size", -kMost, kMost);
  }
  signal.description = line.Rest();
  return signal;
}

WfdbSegment ParseSegmentLine(HeaderLine& line) {
  WfdbSegment segment{.line = line.number()};
  segment.name = Beside(line.Word(), line);
  segment.num_frames =
      line.Whole(line.Word(), "the segment's length", 0, kMaxFrames);
  return segment;
}

// Signals of one file share its format and offset.
void CheckFiles(const WfdbHeader& header, const std::string& path) {
  for (size_t i = 1; i < header.signals.size(); ++i) {
    const WfdbSignal& before = header.signals[i - 1];
    const WfdbSignal& signal = header.signals[i];
    if (signal.file == "~" || signal.file != before.file) continue;
    if (signal.format != before.format ||
        signal.byte_offset != before.byte_offset) {
      RefuseWfdbHeader(path, signal.line,
                       "signals " + std::to_string(i - 1) + " and " +
                           std::to_string(i) + " of file \"" + signal.file +
                           "\" differ in format or byte offset");
    }
  }
}

}  // namespace

void RefuseWfdbHeader(const std::string& path, size_t line,
                      const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "WFDB header \"" + path + "\" line " +
                                       std::to_string(line) + ": " + problem);
}

WfdbHeader ParseWfdbHeader(std::string_view text, const std::string& path) {
  WfdbHeader header;
  bool has_record_line = false;
  size_t num_segments = 0;
  int64_t segment_frames = 0;
  size_t number = 0;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view row = Stripped(text.substr(0, newline), kBlanks);
    text.remove_prefix(std::min(newline + 1, text.size()));
    ++number;
    if (row.empty()) continue;
    if (row.front() == '#') {
      header.comments.emplace_back(Stripped(row, " \t#\r"));
      continue;
    }
    HeaderLine line(row, path, number);
    if (!has_record_line) {
      ParseRecordLine(line, header);
      header.line = number;
      has_record_line = true;
    } else if (header.is_multi_segment()) {
      if (num_segments == header.segments.size()) {
        line.Fail("is one segment more than the " +
                  std::to_string(num_segments) + " that the first line tells");
      }
      const WfdbSegment segment = ParseSegmentLine(line);
      segment_frames += segment.num_frames;
      if (segment_frames > kMaxFrames) {
        line.Fail("brings the segments to " + std::to_string(segment_frames) +
                  " frames; at most " + std::to_string(kMaxFrames) +
                  " are accepted");
      }
      header.segments[num_segments++] = segment;
    } else {
      if (header.signals.size() == header.num_signals) {
        line.Fail("is one signal more than the " +
                  std::to_string(header.num_signals) +
                  " that the first line tells");
      }
      header.signals.push_back(ParseSignalLine(line));
    }
  }
  HeaderLine end("", path, number);
  if (!has_record_line) end.Fail("there is no record line");
  if (header.is_multi_segment()) {
    if (num_segments != header.segments.size()) {
      end.Fail("has " + std::to_string(num_segments) + " segments; " +
               std::to_string(header.segments.size()) +
               " are told in the first line");
    }
  } else if (header.signals.size() != header.num_signals) {
    end.Fail("has " + std::to_string(header.signals.size()) + " signals; " +
             std::to_string(header.num_signals) +
             " are told in the first line");
  }
  CheckFiles(header, path);
  return header;
}

WfdbHeader ReadWfdbHeader(const std::string& path) {
  return ParseWfdbHeader(ReadFileBytes(path, kMaxHeaderFile), path);
}

}  // namespace epochd::engine
