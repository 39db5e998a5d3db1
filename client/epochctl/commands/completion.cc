// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/completion.h"

#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"

namespace epochd::epochctl {

Command CompletionCommand() {
  const auto shell = std::make_shared<std::string>();
  return {
      "completion",
      "",
      "Print a script that completes commands in a shell",
      {"source <(epochctl completion bash)"},
      {{"shell", shell.get(), "Which shell", {"bash", "zsh", "fish"}, true}},
      [shell](Context& context) {
        context.out << CompletionScript(*shell);
        return kOk;
      }};
}

}  // namespace epochd::epochctl
