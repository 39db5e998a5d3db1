// SPDX-License-Identifier: Apache-2.0
#include "net/file_limit.h"

#include <sys/resource.h>

#include <cerrno>

namespace epochd::net {

absl::StatusOr<uint64_t> RaiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return absl::ErrnoToStatus(errno, "cannot read RLIMIT_NOFILE");
  }
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
      return absl::ErrnoToStatus(errno, "cannot raise RLIMIT_NOFILE");
    }
  }
  return static_cast<uint64_t>(limit.rlim_cur);
}

}  // namespace epochd::net
