// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/log_filter.h"

#include <optional>

#include "client/epochctl/words.h"
#include "text/utf8.h"

namespace epochd::epochctl {
namespace {

// Longer than any sequence that means something.
constexpr size_t kLongestSequence = 256;

// Gives the length of the escape sequence at the start of `text`; nothing: its
// end is not there yet.
std::optional<size_t> SequenceLength(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  const char kind = text[1];
  if (kind == '[') {
    for (size_t i = 2; i < text.size(); ++i) {
      if (text[i] >= 0x40 && text[i] <= 0x7e) return i + 1;
      // What belongs to no sequence ends it.
      if (text[i] < 0x20 || static_cast<unsigned char>(text[i]) > 0x7e) {
        return i;
      }
    }
    return std::nullopt;
  }
  if (kind == ']' || kind == 'P' || kind == '^' || kind == '_') {
    for (size_t i = 2; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == '\n') return i;
      if (text[i] == '\x1b') {
        if (i + 1 == text.size()) return std::nullopt;
        return text[i + 1] == '\\' ? i + 2 : i;
      }
    }
    return std::nullopt;
  }
  return static_cast<unsigned char>(kind) < 0x20 ? 1 : 2;
}

// Whether more bytes could make a character of `text`.
bool MayBeCut(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() >= length) return false;
  for (size_t i = 1; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return false;
  }
  return true;
}

}  // namespace

std::string LogFilter::Filter(std::string_view piece) {
  waiting_ += piece;
  const std::string_view text = waiting_;
  std::string result;
  size_t i = 0;
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    const char c = rest[0];
    if (c == '\x1b') {
      const std::optional<size_t> length = SequenceLength(rest);
      if (!length && rest.size() < kLongestSequence) break;
      i += length.value_or(rest.size());
      continue;
    }
    if (c == '\n' || c == '\t' || c == '\r') {
      result += c;
      ++i;
      continue;
    }
    const text::Utf8Character character = text::DecodeFirst(rest);
    if (character.length == 0 && MayBeCut(rest)) break;
    const size_t length = character.length == 0 ? 1 : character.length;
    result += Safe(std::string(rest.substr(0, length)));
    i += length;
  }
  waiting_.erase(0, i);
  return result;
}

std::string LogFilter::Finish() {
  std::string result;
  if (!waiting_.empty() && waiting_[0] != '\x1b') result = Safe(waiting_);
  waiting_.clear();
  return result;
}

}  // namespace epochd::epochctl
