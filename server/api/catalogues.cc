// SPDX-License-Identifier: Apache-2.0
#include "server/api/catalogues.h"

#include <openssl/sha.h>

#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/api/json_limits.h"

namespace epochd::api {
namespace {

// More workers than any fleet has; the one that was silent longest goes.
constexpr size_t kMaxReports = 4096;

using Known = Catalogues::Known;

std::string Sha256Hex(const std::string& text) {
  std::array<char, 32> hash;
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           reinterpret_cast<unsigned char*>(hash.data()));
  return absl::BytesToHexString({hash.data(), hash.size()});
}

// Takes `catalogue` with its text.
Known MakeKnown(catalogue::Catalogue catalogue, std::string json) {
  auto known = std::make_shared<KnownCatalogue>();
  known->sha256 = Sha256Hex(json);
  known->json = std::move(json);
  known->catalogue = std::move(catalogue);
  for (const catalogue::Component& component : known->catalogue.components) {
    known->components.insert(absl::StrCat(component.kind, "/", component.name));
  }
  return known;
}

absl::StatusOr<Known> Read(const std::string& subject, std::string json) {
  std::vector<wire::FieldViolation> violations;
  const auto parsed = ParseLimitedJson(
      json, subject,
      {.max_depth = 64, .max_values = 200000, .max_keys_per_object = 1000},
      violations);
  if (!parsed) return wire::BadRequest(violations);
  try {
    return MakeKnown(catalogue::FromJson(*parsed), std::move(json));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": ", error.what()));
  }
}

// Each component once, as the first that has it declares it.
Known Merge(const std::vector<Known>& parts) {
  if (parts.size() == 1) return parts.front();
  catalogue::Catalogue all;
  std::set<std::string> seen;
  for (const Known& part : parts) {
    for (const catalogue::Component& component : part->catalogue.components) {
      if (seen.insert(absl::StrCat(component.kind, "/", component.name))
              .second) {
        all.components.push_back(component);
      }
    }
  }
  std::string json = catalogue::ToJson(all).dump();
  return MakeKnown(std::move(all), std::move(json));
}

}  // namespace

absl::Status Catalogues::Load(const std::string& subject, std::string json) {
  auto known = Read(subject, std::move(json));
  if (!known.ok()) return known.status();
  absl::MutexLock lock(&mutex_);
  if (reports_.empty()) current_ = *std::move(known);
  return absl::OkStatus();
}

absl::StatusOr<Known> Catalogues::Report(const std::string& worker,
                                         std::string json) {
  if (Known known = ReportKnown(worker, Sha256Hex(json))) return known;
  auto known = Read("catalogue_json", std::move(json));
  if (!known.ok()) return known.status();
  absl::MutexLock lock(&mutex_);
  Note(worker, *known);
  return known;
}

Known Catalogues::ReportKnown(const std::string& worker,
                              const std::string& sha256) {
  absl::MutexLock lock(&mutex_);
  Known known = Find(sha256);
  if (known != nullptr) Note(worker, known);
  return known;
}

Known Catalogues::Current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

Known Catalogues::Find(const std::string& sha256) const {
  for (const auto& [worker, known] : reports_) {
    if (known->sha256 == sha256) return known;
  }
  return current_ != nullptr && current_->sha256 == sha256 ? current_ : nullptr;
}

void Catalogues::Note(const std::string& worker, Known known) {
  reports_.remove_if(
      [&](const auto& report) { return report.first == worker; });
  reports_.emplace_front(worker, std::move(known));
  if (reports_.size() > kMaxReports) reports_.pop_back();
  std::vector<Known> parts;
  std::vector<std::string> hashes;
  for (const auto& [unused, report] : reports_) {
    if (absl::c_linear_search(hashes, report->sha256)) continue;
    hashes.push_back(report->sha256);
    parts.push_back(report);
  }
  if (hashes == parts_) return;
  parts_ = std::move(hashes);
  current_ = Merge(parts);
}

}  // namespace epochd::api
