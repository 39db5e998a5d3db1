// SPDX-License-Identifier: Apache-2.0
//
// StageFiles: copies a file or a folder to where data sets read it, such as
// from slow shared storage to a fast disk. Only what it made itself, and nobody
// changed since, is replaced or removed: beside the target
// .<name>.epochd-staged tells sizes and times of the source's files and of the
// copies. A copy is whole once it has its name. Jobs may share a target: one
// brings it, and the last one takes it away.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/data/data_module.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

class StageFiles : public DataModule {
 public:
  // `remove`: take the target away when the run is over.
  StageFiles(std::string source, std::string target, bool remove);
  ~StageFiles() override;

  // Throws Error(kBadSpec) where the target is the source, within it or around
  // it, or is not of StageFiles and not as the source is;
  // Error(kInfrastructure) naming what cannot be copied or is in use.
  void Prepare() override;
  void Teardown(bool is_main_rank) override;

 private:
  class Mark;

  // False: a copy is there that StageFiles did not make.
  bool Copy(const std::string& listing, Mark& file) const;
  [[noreturn]] void Fail(const std::string& problem) const;

  const std::string source_;
  std::string target_;  // without links, once it is prepared
  const bool remove_;
  std::unique_ptr<Mark> mark_;
};

std::vector<Entry<DataModule>> BuiltinDataModules();

}  // namespace epochd::engine
