// SPDX-License-Identifier: Apache-2.0
//
// The shared secret that every call but a health check carries. 256 random
// bits, written as 64 hex digits. A server keeps only its hash. Plain values;
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace epochd::net {

class Token {
 public:
  // From the operating system's generator.
  static Token Random();
  // Surrounding white space is dropped. INVALID_ARGUMENT unless 32 to 512
  // characters of [A-Za-z0-9._~+/=-] remain; the text is not repeated.
  static absl::StatusOr<Token> Parse(absl::string_view text);

  // The secret itself: for a file of mode 0600 or an authorization header.
  const std::string& secret() const { return secret_; }

 private:
  explicit Token(std::string secret);
  std::string secret_;
};

// Enough to recognise a token, not enough to be one.
class TokenHash {
 public:
  explicit TokenHash(const Token& token);
  // In constant time.
  bool Matches(absl::string_view secret) const;

 private:
  std::array<uint8_t, 32> hash_;
};

// Reads a token file. FAILED_PRECONDITION when others can read it: mode 0600
// or less is wanted; a file of root's may be readable by its group, as secrets
// mounted into containers are. NOT_FOUND when there is none.
absl::StatusOr<Token> LoadToken(const std::string& path);

// Reads the file, or makes it (mode 0600) with a random token. Of several
// processes that make it at once one wins, and all return its token.
absl::StatusOr<Token> LoadOrCreateToken(const std::string& path);

}  // namespace epochd::net
