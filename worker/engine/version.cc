// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/version.h"

namespace epochd::engine {

std::string_view EngineVersion() { return EPOCHD_VERSION; }

}  // namespace epochd::engine
