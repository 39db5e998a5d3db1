// SPDX-License-Identifier: Apache-2.0
//
// The component catalogues that the fleet's trainers reported, by hash, and the
// one that new jobs are checked against: the one given at start until an agent
// reports one, then the one reported last. Any thread.
//
// While none is known, an experiment is checked for form alone; the trainer
// judges its components when it builds them, and a job that names a wrong one
// fails with the reason bad_spec.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "catalogue/catalogue.h"

namespace epochd::api {

struct KnownCatalogue {
  // Lower-case hex, of `json`.
  std::string sha256;
  std::string json;
  catalogue::Catalogue catalogue;
  // "kind/Name" of every component.
  std::set<std::string> components;
};

class Catalogues {
 public:
  // Reads one and makes it the one that jobs are checked against. `subject`
  // begins the message of InvalidArgument.
  absl::StatusOr<std::shared_ptr<const KnownCatalogue>> Add(
      const std::string& subject, std::string json);
  // Makes a known one the current again; null for an unknown hash.
  std::shared_ptr<const KnownCatalogue> Use(const std::string& sha256);
  // Null while none is known.
  std::shared_ptr<const KnownCatalogue> Current() const;

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const KnownCatalogue>> by_hash_
      ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const KnownCatalogue> current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace epochd::api
