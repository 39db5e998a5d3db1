// SPDX-License-Identifier: Apache-2.0
//
// A temporary folder and the TLS files that tests need, made on the spot.
#pragma once

#include <string>

#include "net/tls.h"

namespace epochd::net {

class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  std::string Path(const std::string& name) const;
  // Writes a file and returns its path.
  std::string Write(const std::string& name, const std::string& content,
                    unsigned mode) const;

 private:
  std::string path_;
};

// Makes a self-signed certificate for 127.0.0.1 and localhost that is valid
// for `seconds` from now (negative: expired), and its key of mode 0600. The
// certificate is its own CA.
TlsFiles MakeSelfSigned(const ScratchDir& dir, const std::string& name,
                        long seconds = 3600);

}  // namespace epochd::net
