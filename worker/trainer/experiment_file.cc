// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/experiment_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "worker/trainer/attempt_storage.h"

namespace epochd::trainer {

void WriteExperiment(const std::string& path,
                     const catalogue::Catalogue& catalogue,
                     const std::string& experiment_json) {
  const catalogue::Json experiment =
      catalogue::Resolve(catalogue, catalogue::Json::parse(experiment_json));
  std::ofstream file(path);
  file << catalogue::Json{{"experiment", experiment}}.dump(2) << '\n';
  file.flush();
  if (!file) {
    throw NoStorage("storage: \"" + path +
                    "\" cannot be written: " + strerror(errno));
  }
}

}  // namespace epochd::trainer
