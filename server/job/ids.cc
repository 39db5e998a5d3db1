// SPDX-License-Identifier: Apache-2.0
#include "server/job/ids.h"

#include <charconv>

#include "absl/numeric/int128.h"
#include "fmt/format.h"

namespace epochd::job {
namespace {

constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr size_t kTextLength = 26;
constexpr std::string_view kJobs = "jobs/";
constexpr std::string_view kAttempts = "/attempts/";

}  // namespace

absl::StatusOr<JobId> JobId::Parse(std::string_view text) {
  absl::uint128 bits = 0;
  bool good = text.size() == kTextLength && text[0] <= '7';
  for (size_t i = 0; good && i < text.size(); ++i) {
    const size_t digit = kAlphabet.find(text[i]);
    good = digit != std::string_view::npos;
    bits = (bits << 5) | static_cast<uint64_t>(digit & 31);
  }
  if (!good) {
    return absl::InvalidArgumentError(fmt::format(
        "job id: '{}' is not one, expected {} characters of {}, the first at "
        "most 7",
        text.substr(0, 64), kTextLength, kAlphabet));
  }
  return JobId(absl::Uint128High64(bits), absl::Uint128Low64(bits));
}

std::string JobId::ToString() const {
  absl::uint128 bits = absl::MakeUint128(high_, low_);
  std::string text(kTextLength, '0');
  for (size_t i = kTextLength; i-- > 0; bits >>= 5) {
    text[i] = kAlphabet[static_cast<size_t>(absl::Uint128Low64(bits) & 31)];
  }
  return text;
}

std::string JobId::ResourceName() const {
  return fmt::format("{}{}", kJobs, ToString());
}

absl::StatusOr<AttemptId> AttemptId::Parse(std::string_view resource_name) {
  const std::string_view name = resource_name;
  const size_t split = name.find(kAttempts);
  int32_t number = 0;
  if (name.substr(0, kJobs.size()) == kJobs &&
      split != std::string_view::npos) {
    const std::string_view digits = name.substr(split + kAttempts.size());
    auto job = JobId::Parse(name.substr(kJobs.size(), split - kJobs.size()));
    // Refuses "+1", "01" and the like: one attempt has one name.
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (job.ok() && number >= 1 && std::to_string(number) == digits) {
      return AttemptId{*job, AttemptNumber(number)};
    }
  }
  return absl::InvalidArgumentError(fmt::format(
      "attempt: '{}' is not one, expected jobs/{{job}}/attempts/{{n}}",
      name.substr(0, 128)));
}

std::string AttemptId::ResourceName() const {
  return fmt::format("{}{}{}", job.ResourceName(), kAttempts, number.value());
}

}  // namespace epochd::job
