// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/loss.h"

#include "worker/engine/core/error.h"

namespace epochd::engine {

at::Tensor Loss::Residual(const Batch& /*batch*/) const {
  throw Error(ErrorKind::kBadSpec,
              "loss \"" + name() +
                  "\": has no differences for each sample; MSE, L1 and "
                  "residuals of differential equations are accepted with this "
                  "balancer");
}

}  // namespace epochd::engine
