// SPDX-License-Identifier: Apache-2.0
//
// DataModule: what must happen around the data of a run: bring it where it is
// read from, and clean up. DataStages walks one through its stages:
//
//   Prepare()    on rank 0 alone; the others wait
//   Setup()      on each rank, before data sets are built
//   Teardown()   on each rank whose Setup() returned, however the run ends
#pragma once

#include <memory>

#include "worker/engine/dist/communicator.h"

namespace epochd::engine {

class DataModule {
 public:
  virtual ~DataModule() = default;

  virtual void Prepare() {}
  virtual void Setup() {}
  virtual void Teardown(bool is_main_rank) { (void)is_main_rank; }
};

class DataStages {
 public:
  // Collective: prepares and sets up. `communicator` outlives the call.
  DataStages(std::shared_ptr<DataModule> module, Communicator& communicator);
  // Tears down; what that throws is lost, as the run has its result.
  ~DataStages();
  DataStages(const DataStages&) = delete;
  DataStages& operator=(const DataStages&) = delete;

 private:
  const std::shared_ptr<DataModule> module_;
  const bool is_main_rank_;
};

}  // namespace epochd::engine
