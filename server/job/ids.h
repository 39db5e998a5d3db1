// SPDX-License-Identifier: Apache-2.0
//
// Names of jobs, attempts, workers and agents, each its own type. Plain values:
// copy freely, use from any thread. The texts are safe in resource names, file
// names and labels.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace epochd::job {

// 128 random bits. The text is 26 characters of lower-case base32 without
// i, l, o and u. The default value names no job.
class JobId {
 public:
  JobId() = default;
  JobId(uint64_t high, uint64_t low) : high_(high), low_(low) {}

  // InvalidArgument unless `text` is what ToString() returns for some id.
  static absl::StatusOr<JobId> Parse(std::string_view text);

  std::string ToString() const;
  // jobs/{job}
  std::string ResourceName() const;
  bool IsNil() const { return high_ == 0 && low_ == 0; }

  friend auto operator<=>(const JobId&, const JobId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const JobId& id) {
    return H::combine(std::move(h), id.high_, id.low_);
  }

 private:
  uint64_t high_ = 0;
  uint64_t low_ = 0;
};

// 1 is a job's first attempt; 0 stands for the job itself.
class AttemptNumber {
 public:
  AttemptNumber() = default;
  explicit AttemptNumber(int32_t value) : value_(value) {}

  int32_t value() const { return value_; }
  AttemptNumber Next() const { return AttemptNumber(value_ + 1); }

  friend auto operator<=>(const AttemptNumber&, const AttemptNumber&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const AttemptNumber& number) {
    return H::combine(std::move(h), number.value_);
  }

 private:
  int32_t value_ = 0;
};

struct AttemptId {
  JobId job;
  AttemptNumber number;

  // Reads jobs/{job}/attempts/{n}, n >= 1.
  static absl::StatusOr<AttemptId> Parse(std::string_view resource_name);
  // jobs/{job}/attempts/{n}
  std::string ResourceName() const;

  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const AttemptId& id) {
    return H::combine(std::move(h), id.job, id.number);
  }
};

// A worker's own name, [a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?. The API checks it;
// here it is any text.
class WorkerId {
 public:
  WorkerId() = default;
  explicit WorkerId(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  // workers/{worker}
  std::string ResourceName() const { return "workers/" + name_; }

  friend auto operator<=>(const WorkerId&, const WorkerId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const WorkerId& id) {
    return H::combine(std::move(h), id.name_);
  }

 private:
  std::string name_;
};

// Made at random by an agent when it starts; tells two agents of one name
// apart.
class Incarnation {
 public:
  Incarnation() = default;
  explicit Incarnation(std::string text) : text_(std::move(text)) {}

  const std::string& text() const { return text_; }

  friend auto operator<=>(const Incarnation&, const Incarnation&) = default;

 private:
  std::string text_;
};

}  // namespace epochd::job
