// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_annotation.h"

#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "worker/engine/core/error.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/refuse_file.h"

namespace epochd::engine {
namespace {

constexpr int64_t kMaxFile = int64_t{1} << 30;

// Codes that say something about an annotation in place of being one.
enum Control {
  kSkip = 59,
  kNumber = 60,
  kSubtype = 61,
  kChannel = 62,
  kAux = 63
};
constexpr int kNote = 22;

constexpr std::array<std::string_view, 42> kSymbols = {
    " ", "N", "L", "R", "a", "V", "F", "J", "A",  "S", "E", "j", "/", "Q",
    "~", "",  "|", "",  "s", "T", "*", "D", "\"", "=", "p", "B", "^", "t",
    "+", "u", "?", "!", "[", "]", "e", "n", "@",  "x", "f", "(", ")", "r"};

class AnnotationReader {
 public:
  AnnotationReader(std::string_view bytes, const std::string& path)
      : bytes_(bytes), path_(path) {}

  bool AtEnd() const { return at_ >= bytes_.size(); }
  size_t at() const { return at_; }
  // The next two bytes, low one first.
  uint32_t Word() {
    const std::string_view word = Take(2);
    return static_cast<uint8_t>(word[0]) |
           uint32_t{static_cast<uint8_t>(word[1])} << 8;
  }
  std::string_view Take(size_t count) {
    if (count > bytes_.size() - at_) {
      Fail("ends within an annotation");
    }
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  [[noreturn]] void Fail(const std::string& problem) const {
    RefuseFile("WFDB annotations", path_, at_, problem);
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  const std::string& path_;
};

// Notes at sample 0 that begin with "## " speak about the file: its rate, and
// symbols of its own.
class Definitions {
 public:
  // Gives whether the note was such a one.
  bool Take(const std::string& note) {
    constexpr std::string_view kResolution = "## time resolution: ";
    if (is_within_) {
      is_within_ = note != "## end of definitions";
      if (is_within_) AddSymbol(note);
      return true;
    }
    if (!note.starts_with("## ")) return false;
    is_within_ = note == "## annotation type definitions";
    if (note.starts_with(kResolution)) {
      double rate = 0;
      const char* end = note.data() + note.size();
      if (std::from_chars(note.data() + kResolution.size(), end, rate).ec ==
              std::errc() &&
          rate > 0 && rate < 1e9) {
        fs_ = rate;
      }
    }
    return true;
  }
  double fs() const { return fs_; }
  std::string Symbol(int code) const {
    const auto found = symbols_.find(code);
    return found != symbols_.end() ? found->second
                                   : std::string(WfdbSymbol(code));
  }

 private:
  // "CODE SYMBOL DESCRIPTION"
  void AddSymbol(const std::string& note) {
    int code = 0;
    const char* end = note.data() + note.size();
    const auto [next, error] = std::from_chars(note.data(), end, code);
    if (error != std::errc() || next == end || *next != ' ') return;
    const size_t begin = static_cast<size_t>(next - note.data()) + 1;
    symbols_[code] = note.substr(begin, note.find(' ', begin) - begin);
  }

  bool is_within_ = false;
  double fs_ = 0;
  std::map<int, std::string> symbols_;
};

}  // namespace

std::string_view WfdbSymbol(int code) {
  if (code < 0 || code >= static_cast<int>(kSymbols.size())) return {};
  return kSymbols[code];
}

WfdbAnnotations ParseWfdbAnnotations(std::string_view bytes,
                                     const std::string& path) {
  AnnotationReader reader(bytes, path);
  Definitions definitions;
  WfdbAnnotations found;
  int64_t time = 0;
  // Carried over from one annotation to the next.
  int channel = 0;
  int number = 0;
  bool has_end = false;
  while (!reader.AtEnd()) {
    const uint32_t word = reader.Word();
    const int code = static_cast<int>(word >> 10);
    const int value = static_cast<int>(word & 0x3ff);
    if (code == 0 && value == 0) {
      has_end = true;
      break;
    }
    if (code == kSkip) {
      // High half first, each half low byte first.
      const uint32_t high = reader.Word();
      const uint32_t low = reader.Word();
      time += static_cast<int32_t>(high << 16 | low);
      continue;
    }
    if (code < kSkip) {
      time += value;
      found.all.push_back(
          {.sample = time, .code = code, .channel = channel, .number = number});
      continue;
    }
    // Without an annotation before it, it speaks of nothing; its value still
    // carries over.
    WfdbAnnotation ignored;
    WfdbAnnotation& last = found.all.empty() ? ignored : found.all.back();
    const int low_byte = value & 0xff;
    switch (code) {
      case kNumber:
        last.number = number = static_cast<int8_t>(low_byte);
        break;
      case kSubtype:
        last.subtype = static_cast<int8_t>(low_byte);
        break;
      case kChannel:
        last.channel = channel = low_byte;
        break;
      case kAux: {
        last.aux = reader.Take(low_byte);
        if (low_byte % 2 == 1) reader.Take(1);
        last.aux.resize(last.aux.find_last_not_of('\0') + 1);
        break;
      }
    }
  }
  if (!has_end) reader.Fail("ends without an end mark (two zero bytes)");
  std::vector<WfdbAnnotation> kept;
  for (WfdbAnnotation& each : found.all) {
    if (each.sample == 0 && each.code == kNote && definitions.Take(each.aux)) {
      continue;
    }
    if (each.code == 0) continue;  // NOTQRS: not an annotation
    kept.push_back(std::move(each));
  }
  for (WfdbAnnotation& each : kept) {
    each.symbol = definitions.Symbol(each.code);
  }
  found.all = std::move(kept);
  found.fs = definitions.fs();
  return found;
}

WfdbAnnotations ReadWfdbAnnotations(const std::string& path) {
  return ParseWfdbAnnotations(ReadFileBytes(path, kMaxFile), path);
}

}  // namespace epochd::engine
