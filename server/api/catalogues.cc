// SPDX-License-Identifier: Apache-2.0
#include "server/api/catalogues.h"

#include <openssl/sha.h>

#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/api/json_limits.h"

namespace epochd::api {
namespace {

// Agents with plugins of their own may bring many; the oldest by hash goes.
constexpr size_t kMaxKnown = 64;

std::string Sha256Hex(const std::string& text) {
  std::array<char, 32> hash;
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           reinterpret_cast<unsigned char*>(hash.data()));
  return absl::BytesToHexString({hash.data(), hash.size()});
}

}  // namespace

absl::StatusOr<std::shared_ptr<const KnownCatalogue>> Catalogues::Add(
    const std::string& subject, std::string json) {
  const std::string sha256 = Sha256Hex(json);
  if (auto known = Use(sha256)) return known;
  std::vector<wire::FieldViolation> violations;
  const auto parsed = ParseLimitedJson(
      json, subject,
      {.max_depth = 64, .max_values = 200000, .max_keys_per_object = 1000},
      violations);
  if (!parsed) return wire::BadRequest(violations);
  auto known = std::make_shared<KnownCatalogue>();
  known->sha256 = sha256;
  known->json = std::move(json);
  try {
    known->catalogue = catalogue::FromJson(*parsed);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": ", error.what()));
  }
  for (const catalogue::Component& component : known->catalogue.components) {
    known->components.insert(absl::StrCat(component.kind, "/", component.name));
  }
  absl::MutexLock lock(&mutex_);
  if (by_hash_.size() >= kMaxKnown) by_hash_.erase(by_hash_.begin());
  by_hash_[sha256] = known;
  current_ = known;
  return known;
}

std::shared_ptr<const KnownCatalogue> Catalogues::Use(
    const std::string& sha256) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_hash_.find(sha256);
  if (found == by_hash_.end()) return nullptr;
  current_ = found->second;
  return current_;
}

std::shared_ptr<const KnownCatalogue> Catalogues::Current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

}  // namespace epochd::api
