// SPDX-License-Identifier: Apache-2.0
//
// The component catalogues that the fleet's trainers reported, and the one that
// new jobs are checked against: the one given at start until an agent reports
// one, then all that some worker can build. A job is placed only where all of
// its components are. Any thread.
//
// While none is known, an experiment is checked for form alone; the trainer
// judges its components when it builds them, and a job that names a wrong one
// fails with the reason bad_spec.
#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
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
  using Known = std::shared_ptr<const KnownCatalogue>;

  // Reads the one to use until a worker reports its own. `subject` begins the
  // message of InvalidArgument.
  absl::Status Load(const std::string& subject, std::string json);
  // Notes what `worker`'s trainers can build, in place of what it said before.
  absl::StatusOr<Known> Report(const std::string& worker, std::string json);
  // The same of one that some worker has, by its hash; null: no worker has it.
  Known ReportKnown(const std::string& worker, const std::string& sha256);
  // Every component of the reports; where workers declare one differently, as
  // the newest report does. Null while none is known.
  Known Current() const;

 private:
  void Note(const std::string& worker, Known known)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Known Find(const std::string& sha256) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  // By worker, newest first.
  std::list<std::pair<std::string, Known>> reports_ ABSL_GUARDED_BY(mutex_);
  // Hashes of what current_ was put together from, newest first.
  std::vector<std::string> parts_ ABSL_GUARDED_BY(mutex_);
  Known current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace epochd::api
