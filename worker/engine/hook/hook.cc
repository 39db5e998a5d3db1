// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/hook/hook.h"

#include <algorithm>

namespace epochd::engine {

const char* ToString(RunResult result) {
  switch (result) {
    case RunResult::kSuccess:
      return "success";
    case RunResult::kFailed:
      return "failed";
    case RunResult::kInterrupted:
      return "interrupted";
  }
  return "failed";
}

bool Hook::IsInScope(std::string_view pass) const {
  return scope_.empty() ||
         std::find(scope_.begin(), scope_.end(), pass) != scope_.end();
}

}  // namespace epochd::engine
