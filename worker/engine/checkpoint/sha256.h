// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 as it streams by. Plain object; one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace epochd::engine {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(const void* data, size_t size);
  // 64 hex digits; nothing may be added after it.
  std::string Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace epochd::engine
