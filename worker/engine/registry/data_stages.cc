// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/data_stages.h"

#include "worker/engine/core/error.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {

std::unique_ptr<DataStages> PrepareData(const Registry& registry,
                                        const catalogue::Json& experiment,
                                        const std::string& root,
                                        Communicator& communicator) {
  const auto found = experiment.find("data_module");
  if (found == experiment.end()) return nullptr;
  const catalogue::Validated checked = catalogue::Validate(
      registry.catalogue(), experiment,
      {.root = root, .max_replicas = communicator.world_size()});
  if (!checked.violations.empty()) {
    std::string message;
    for (const catalogue::Violation& violation : checked.violations) {
      if (!message.empty()) message += '\n';
      message += violation.field + ": " + violation.description;
    }
    throw Error(ErrorKind::kBadSpec, message);
  }
  BuildScope scope(registry, experiment, root);
  return std::make_unique<DataStages>(
      scope.MakeAs<DataModule>(*found,
                               catalogue::AppendKey(root, "data_module")),
      communicator);
}

}  // namespace epochd::engine
