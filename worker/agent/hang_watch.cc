// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/hang_watch.h"

#include <sys/stat.h>

#include <utility>

namespace epochd::agent {

HangWatch::HangWatch(std::vector<std::string> files, absl::Duration after)
    : files_(std::move(files)), after_(after) {}

bool HangWatch::Look(absl::Time now) {
  if (files_.empty()) return false;
  int64_t size = 0;
  for (const std::string& file : files_) {
    struct stat info {};
    if (stat(file.c_str(), &info) == 0) size += info.st_size;
  }
  if (size != size_) {
    size_ = size;
    grew_ = now;
  }
  return now - grew_ >= after_;
}

}  // namespace epochd::agent
