// SPDX-License-Identifier: Apache-2.0
//
// What records are made of: times, maps, and values that several of them hold.
// For records.cc and event_record.cc alone, which keep the messages of
// proto/epochd/storage/v1 to themselves. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "proto/epochd/storage/v1/records.pb.h"
#include "server/job/event.h"
#include "server/store/seal.h"

namespace epochd::store {

namespace pb = epochd::storage::v1;

template <typename Message>
std::string Serialize(const Message& message) {
  return Seal(message.SerializeAsString());
}

template <typename Message>
absl::StatusOr<Message> Parse(std::string_view record, const char* what) {
  const std::optional<std::string_view> bytes = Unseal(record);
  Message message;
  if (!bytes.has_value() ||
      !message.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) {
    return absl::DataLossError(absl::StrCat(
        what,
        ": the stored record is damaged; restore the state folder from "
        "a backup"));
  }
  return message;
}

// ---- times: absent stands for the one value that nanoseconds cannot say ----

template <typename Setter>
void PutTime(std::optional<absl::Time> time, Setter set) {
  if (time.has_value() && *time != absl::InfinitePast()) {
    set(absl::ToUnixNanos(*time));
  }
}

inline std::optional<absl::Time> OptionalTime(bool has,
                                              std::int64_t nanoseconds) {
  if (!has) return std::nullopt;
  return absl::FromUnixNanos(nanoseconds);
}

inline absl::Time TimeOf(bool has, std::int64_t nanoseconds) {
  return OptionalTime(has, nanoseconds).value_or(absl::InfinitePast());
}

template <typename Setter>
void PutDuration(absl::Duration duration, Setter set) {
  if (duration != absl::InfiniteDuration()) {
    set(absl::ToInt64Nanoseconds(duration));
  }
}

inline absl::Duration DurationOf(bool has, std::int64_t nanoseconds) {
  return has ? absl::Nanoseconds(nanoseconds) : absl::InfiniteDuration();
}

// ---- maps and lists ---------------------------------------------------------

template <typename Value>
void PutMap(const std::map<std::string, Value>& from,
            google::protobuf::Map<std::string, Value>* to) {
  for (const auto& [key, value] : from) (*to)[key] = value;
}

template <typename Value>
std::map<std::string, Value> MapOf(
    const google::protobuf::Map<std::string, Value>& from) {
  return {from.begin(), from.end()};
}

template <typename Range>
std::vector<std::string> StringsOf(const Range& from) {
  return {from.begin(), from.end()};
}

// ---- parts ------------------------------------------------------------------

void Put(const job::RankPlacement& from, pb::RankPlacement* to);
job::RankPlacement Get(const pb::RankPlacement& from);
void Put(const job::BestMetric& from, pb::BestMetric* to);
job::BestMetric Get(const pb::BestMetric& from);
void Put(const job::Checkpoint& from, pb::Checkpoint* to);
job::Checkpoint Get(const pb::Checkpoint& from);

}  // namespace epochd::store
