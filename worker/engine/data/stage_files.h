// SPDX-License-Identifier: Apache-2.0
//
// StageFiles: copies a file or a folder to where data sets read it, such as
// from slow shared storage to a fast disk. What is there already and not older
// than the source is kept; a copy is whole once it has its name.
#pragma once

#include <string>
#include <vector>

#include "worker/engine/data/data_module.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

class StageFiles : public DataModule {
 public:
  // `remove`: take the target away when the run is over.
  StageFiles(std::string source, std::string target, bool remove)
      : source_(std::move(source)),
        target_(std::move(target)),
        remove_(remove) {}

  // Throws Error(kInfrastructure) naming what cannot be copied.
  void Prepare() override;
  void Teardown(bool is_main_rank) override;

 private:
  const std::string source_;
  const std::string target_;
  const bool remove_;
};

std::vector<Entry<DataModule>> BuiltinDataModules();

}  // namespace epochd::engine
