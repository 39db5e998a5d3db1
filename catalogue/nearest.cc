// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "catalogue/catalogue.h"

namespace epochd::catalogue {
namespace {

// Nobody meant a name by a word longer than this.
constexpr size_t kLongestWord = 64;

// Drops what people vary without meaning another name.
std::string Folded(std::string_view word) {
  std::string folded;
  for (unsigned char c : word) {
    if (c == '_' || c == '-' || c == ' ') continue;
    folded += static_cast<char>(std::tolower(c));
  }
  return folded;
}

// Counts insertions, deletions, replacements and swaps of neighbours.
size_t Distance(const std::string& a, const std::string& b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> before(width), previous(width), current(width);
  for (size_t j = 0; j < width; ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j < width; ++j) {
      const size_t replaced =
          previous[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> Nearest(std::string_view word,
                                   const std::vector<std::string>& known) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  const std::string folded = Folded(word);
  const std::string* best = nullptr;
  size_t best_distance = 0;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    const std::string other = Folded(candidate);
    const size_t distance = Distance(folded, other);
    const size_t allowed =
        std::max<size_t>(1, std::min(folded.size(), other.size()) / 3);
    // Two short words that differ in their only letter are not near.
    if (distance > allowed || (distance > 0 && other.size() < 2)) continue;
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

}  // namespace epochd::catalogue
