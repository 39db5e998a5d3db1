// SPDX-License-Identifier: Apache-2.0
//
// The way of a rank's lines and log to the coordinator, as the core sees it.
// Any thread; what happened is told to the core by its owner (agent.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/agent/types.h"

namespace epochd::agent {

class Spool {
 public:
  virtual ~Spool() = default;

  // Begins to forward, from what acked.json says on. Once per rank.
  virtual void Add(const std::string& attempt, int rank,
                   const std::string& rank_dir) = 0;
  // Nothing more will be written: drained once all is acknowledged.
  virtual void SetEnded(const std::string& attempt, int rank) = 0;
  // Everything of an ended attempt was acknowledged, or is not wanted.
  virtual bool IsDrained(const std::string& attempt) = 0;
  // Bytes of its lines and logs acknowledged so far.
  virtual int64_t Acknowledged(const std::string& attempt) = 0;
  // Stops forwarding and forgets.
  virtual void Remove(const std::string& attempt) = 0;
};

// Brings the files that a job carries to the node.
class FileFetcher {
 public:
  virtual ~FileFetcher() = default;
  // Fills `folder` in the background; FetchDone of the core tells the end.
  virtual void Fetch(const std::string& attempt, const std::string& folder,
                     std::vector<CarriedFile> files) = 0;
};

}  // namespace epochd::agent
