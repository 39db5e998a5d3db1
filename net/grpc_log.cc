// SPDX-License-Identifier: Apache-2.0
#include "net/grpc_log.h"

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

namespace epochd::net {
namespace {

void Forward(gpr_log_func_args* record) {
  if (record->severity == GPR_LOG_SEVERITY_ERROR) {
    spdlog::warn("grpc: {}", record->message);
  } else {
    spdlog::debug("grpc: {}", record->message);
  }
}

}  // namespace

void ForwardGrpcLog() { gpr_set_log_function(&Forward); }

}  // namespace epochd::net
