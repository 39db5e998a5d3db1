// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/stage_files.h"

#include <filesystem>
#include <system_error>

#include "worker/engine/core/error.h"

namespace epochd::engine {

namespace fs = std::filesystem;

DataStages::DataStages(std::shared_ptr<DataModule> module,
                       Communicator& communicator)
    : module_(std::move(module)), is_main_rank_(communicator.rank() == 0) {
  if (is_main_rank_) module_->Prepare();
  communicator.Barrier();
  module_->Setup();
}

DataStages::~DataStages() {
  try {
    module_->Teardown(is_main_rank_);
  } catch (const std::exception&) {
  }
}

void StageFiles::Prepare() {
  std::error_code error;
  const fs::file_time_type source_time = fs::last_write_time(source_, error);
  if (error) {
    throw Error(ErrorKind::kBadSpec, "experiment.data_module.source: \"" +
                                         source_ + "\": " + error.message());
  }
  const fs::file_time_type target_time = fs::last_write_time(target_, error);
  if (!error && target_time >= source_time) return;
  const std::string copy = target_ + ".new";
  error.clear();
  fs::remove_all(copy, error);
  if (fs::path(target_).has_parent_path()) {
    fs::create_directories(fs::path(target_).parent_path(), error);
  }
  error.clear();
  fs::copy(source_, copy, fs::copy_options::recursive, error);
  if (!error) fs::remove_all(target_, error);
  if (!error) fs::rename(copy, target_, error);
  if (error) {
    throw Error(ErrorKind::kInfrastructure, "experiment.data_module: \"" +
                                                source_ + "\" to \"" + target_ +
                                                "\": " + error.message());
  }
}

void StageFiles::Teardown(bool is_main_rank) {
  if (remove_ && is_main_rank) fs::remove_all(target_);
}

std::vector<Entry<DataModule>> BuiltinDataModules() {
  return {{{.kind = "data_module",
            .name = "StageFiles",
            .help = "copies data to where data sets read it",
            .parameters = {{.name = "source",
                            .type = "path",
                            .required = true,
                            .help = "a file or a folder"},
                           {.name = "target",
                            .type = "string",
                            .required = true,
                            .help = "where it goes: an absolute path that all "
                                    "ranks see"},
                           {.name = "remove",
                            .type = "bool",
                            .default_value = false,
                            .help = "take it away when the run is over"}}},
           [](const Params& params) -> std::shared_ptr<DataModule> {
             const std::string target = params.String("target");
             if (!fs::path(target).is_absolute()) {
               params.Fail("target",
                           "\"" + target + "\"; an absolute path is accepted");
             }
             return std::make_shared<StageFiles>(params.String("source"),
                                                 target, params.Bool("remove"));
           }}};
}

}  // namespace epochd::engine
