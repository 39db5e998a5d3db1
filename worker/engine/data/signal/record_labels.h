// SPDX-License-Identifier: Apache-2.0
//
// Labels and groups of recordings: from comments of their headers, from
// annotations, or from a CSV file. Throw Error(kBadSpec) naming record and
// label. Plain values; any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/data/signal/wfdb_annotation.h"

namespace epochd::engine {

// The classes that a data set knows, and how a sample's labels become a
// target.
struct ClassRule {
  std::vector<std::string> names = {};
  bool is_multi = false;      // float32 [classes] of 0 and 1; else one int64
  bool skip_unknown = false;  // leave out what has no known class

  // Place of `name` (a leading "(" of rhythms may be left out); -1: none. A
  // class of several names is "a|b", as in the CinC challenges' tables.
  int64_t Find(const std::string& name) const;
  // Places of the labels of `where`. Empty: leave it out. With `is_multi`,
  // labels that are not known are passed over when `skip_unknown`, and a
  // sample without any is kept. Throws where there is none, or more than one
  // without `is_multi`.
  std::optional<std::vector<int64_t>> Places(
      const std::vector<std::string>& labels, const std::string& where) const;
  // Rows of places to a tensor, [rows] or [rows, classes].
  at::Tensor Target(const std::vector<std::vector<int64_t>>& rows) const;
};

// The value of "KEY: value" among comments; empty: there is none.
std::string CommentValue(const std::vector<std::string>& comments,
                         const std::string& key);

// "a, b;c" to {"a", "b", "c"}.
std::vector<std::string> SplitLabels(const std::string& text);

// One column of a CSV file by the record that each row is about.
std::map<std::string, std::string> LabelsByRecord(
    const std::string& file, const std::string& record_column,
    const std::string& column);

// A span of time with one label, in seconds; what has no end ends at infinity.
struct LabelSpan {
  double from = 0;
  double to = 0;
  std::string label = {};
};
// From annotations whose aux begins with "(", which is left out. `fs`: the
// record's rate.
std::vector<LabelSpan> Rhythms(const WfdbAnnotations& annotations, double fs);

// An annotation at one place, such as a beat.
struct BeatLabel {
  double at = 0;            // s
  std::string symbol = {};  // such as "N", "V"
};
// Each annotation and its symbol; classes say which of them are beats.
std::vector<BeatLabel> Beats(const WfdbAnnotations& annotations, double fs);

// The labels of a window in seconds: the one that covers most of it, and no
// less than what has no label, or, with `all`, each that covers a tenth of it
// or more. Empty: none.
std::vector<std::string> LabelsWithin(const std::vector<LabelSpan>& spans,
                                      double from, double to, bool all);

}  // namespace epochd::engine
