// SPDX-License-Identifier: Apache-2.0
//
// Places the files that a job carries in its work folder, by hash, in a thread
// of its own. Nothing is ever written outside the folder: paths are opened with
// RESOLVE_BENEATH and without following links.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/agent/background.h"
#include "worker/agent/spool.h"
#include "worker/agent/transport.h"

namespace epochd::agent {

class CarriedFileFetcher final : public FileFetcher {
 public:
  using Done =
      std::function<void(const std::string& attempt, const absl::Status&)>;

  // `done` is called in the fetcher's thread.
  CarriedFileFetcher(Transport& transport, Done done);

  void Fetch(const std::string& attempt, const std::string& folder,
             std::vector<CarriedFile> files) override;

 private:
  Transport& transport_;
  const Done done_;
  Background background_;
};

// Fetches one file, checks its hash and only then gives it its name.
// INVALID_ARGUMENT for a path that leads out of `folder`.
absl::Status PlaceFile(Transport& transport, const std::string& folder,
                       const CarriedFile& file);

}  // namespace epochd::agent
