// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/name_pattern.h"

#include <cstddef>

namespace epochd::engine {
namespace {

bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool PatternFits(std::string_view pattern, std::string_view name) {
  if (Matches(pattern, name)) return true;
  for (size_t dot = name.find('.'); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    if (Matches(pattern, name.substr(0, dot))) return true;
  }
  return false;
}

}  // namespace epochd::engine
