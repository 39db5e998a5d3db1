// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's folder, held by one process: an advisory lock on
// <folder>/lock that the kernel lets go with the process. The same file says
// whether the last holder ended cleanly, so that a write-ahead log that went
// missing is noticed. Belongs to one thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace epochd::store {

class StateFolder {
 public:
  // Makes the folder (mode 0700) when it is missing. Unavailable when another
  // process holds it, naming that one.
  static absl::StatusOr<StateFolder> Lock(const std::string& path);
  ~StateFolder();
  StateFolder(StateFolder&& other) noexcept;
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  const std::string& path() const { return path_; }
  // The last holder wrote to the folder and did not say goodbye.
  bool WasLeftOpen() const { return left_open_; }

  // Durable before they return.
  absl::Status MarkOpen();
  absl::Status MarkClosed();

 private:
  StateFolder(std::string path, int descriptor, bool left_open);
  absl::Status Write(const std::string& mark);

  std::string path_;
  int descriptor_;
  bool left_open_;
};

}  // namespace epochd::store
