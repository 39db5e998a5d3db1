// SPDX-License-Identifier: Apache-2.0
//
// What clients asked about one job name and what they were told, and whether
// one order of all of it explains every answer (Wing and Gong's search, with
// the memory of Lowe). A job name is a register: absent, or one job that is
// queued or cancelled.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/job/ids.h"

namespace epochd::control {

struct Operation {
  enum class Kind { kSubmit, kGet, kCancel, kDelete };
  enum class Outcome { kOk, kNotFound, kNotFinished, kUnknown };

  Kind kind = Kind::kGet;
  // The job that was asked about, or that a submit was answered with.
  job::JobId id;
  Outcome outcome = Outcome::kUnknown;
  // With kOk, but for a deletion: what the answer showed.
  bool cancelled = false;
  // Moments of one counter; without an answer it may happen at any later time.
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
};

class History {
 public:
  static constexpr size_t kMost = 128;

  void Add(Operation operation) { operations_.push_back(operation); }
  size_t size() const { return operations_.size(); }
  // One line for each, by its begin.
  std::string Describe() const {
    auto sorted = operations_;
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::ostringstream text;
    for (const Operation& one : sorted) {
      constexpr const char* kKinds[] = {"submit", "get", "cancel", "delete"};
      constexpr const char* kOutcomes[] = {"ok", "not found", "not finished",
                                           "unknown"};
      text << one.begin << " to " << one.end << ": "
           << kKinds[static_cast<size_t>(one.kind)] << " " << one.id.ToString()
           << ": " << kOutcomes[static_cast<size_t>(one.outcome)]
           << (one.cancelled ? ", cancelled\n" : "\n");
    }
    return text.str();
  }
  bool IsLinearizable() {
    tried_.clear();
    return Search({}, {});
  }

 private:
  struct State {
    bool exists = false;
    bool cancelled = false;
    // Empty: made by a submit that was not answered.
    std::optional<job::JobId> id;

    friend bool operator<(const State& a, const State& b) {
      return std::tie(a.exists, a.cancelled, a.id) <
             std::tie(b.exists, b.cancelled, b.id);
    }
  };
  using Done = std::bitset<kMost>;

  // States after the operation; none: it cannot come here.
  static std::vector<State> After(const State& state, const Operation& op) {
    using Kind = Operation::Kind;
    using Outcome = Operation::Outcome;
    if (op.kind == Kind::kSubmit) {
      const bool unknown = op.outcome == Outcome::kUnknown;
      if (!state.exists) {
        if (!unknown && op.cancelled) return {};
        return {{true, false, unknown ? std::nullopt : std::optional(op.id)}};
      }
      if (unknown) return {state};
      if ((state.id && *state.id != op.id) || state.cancelled != op.cancelled) {
        return {};
      }
      return {{true, state.cancelled, op.id}};
    }
    std::vector<State> after;
    // It is another job, or none.
    if (!state.exists || !state.id || *state.id != op.id) {
      if (op.outcome == Outcome::kNotFound || op.outcome == Outcome::kUnknown) {
        after.push_back(state);
      }
    }
    if (!state.exists || (state.id && *state.id != op.id)) return after;
    State same{true, state.cancelled, op.id};
    switch (op.outcome) {
      case Outcome::kNotFound:
        break;
      case Outcome::kNotFinished:
        if (!state.cancelled) after.push_back(same);
        break;
      case Outcome::kOk:
        if (op.kind == Kind::kDelete) {
          if (state.cancelled) after.push_back({});
        } else if (op.kind == Kind::kCancel) {
          if (op.cancelled) after.push_back({true, true, op.id});
        } else if (op.cancelled == state.cancelled) {
          after.push_back(same);
        }
        break;
      case Outcome::kUnknown:
        after.push_back(same);
        if (op.kind == Kind::kCancel) after.push_back({true, true, op.id});
        if (op.kind == Kind::kDelete && state.cancelled) after.push_back({});
        break;
    }
    return after;
  }

  // Of several that were asked the same and not answered, the one that began
  // first can stand for each: whenever another may happen, it may.
  bool HasTwin(size_t i, const Done& done) const {
    const Operation& one = operations_[i];
    if (one.outcome != Operation::Outcome::kUnknown) return false;
    for (size_t j = 0; j < operations_.size(); ++j) {
      const Operation& other = operations_[j];
      if (!done[j] && other.outcome == one.outcome && other.kind == one.kind &&
          (one.kind == Operation::Kind::kSubmit || other.id == one.id) &&
          other.begin < one.begin) {
        return true;
      }
    }
    return false;
  }

  bool Search(const Done& done, const State& state) {
    int64_t first_end = std::numeric_limits<int64_t>::max();
    bool none_answered = true;
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (done[i]) continue;
      first_end = std::min(first_end, operations_[i].end);
      none_answered &= operations_[i].outcome == Operation::Outcome::kUnknown;
    }
    // What was never answered need not have happened.
    if (none_answered) return true;
    if (!tried_.insert({done.to_string(), state}).second) return false;
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (done[i] || operations_[i].begin > first_end || HasTwin(i, done)) {
        continue;
      }
      Done more = done;
      more.set(i);
      for (const State& next : After(state, operations_[i])) {
        // Without an effect it may as well not have happened.
        if (operations_[i].outcome == Operation::Outcome::kUnknown &&
            !(next < state) && !(state < next)) {
          continue;
        }
        if (Search(more, next)) return true;
      }
    }
    return false;
  }

  std::vector<Operation> operations_;
  std::set<std::pair<std::string, State>> tried_;
};

}  // namespace epochd::control
