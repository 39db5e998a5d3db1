// SPDX-License-Identifier: Apache-2.0
#include "net/token.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace epochd::net {
namespace {

constexpr size_t kMinLength = 32;
constexpr size_t kMaxLength = 512;

std::array<uint8_t, 32> Sha256(absl::string_view text) {
  std::array<uint8_t, 32> hash;
  ::SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
           hash.data());
  return hash;
}

bool IsTokenCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::string_view("._~+/=-").find(c) != absl::string_view::npos;
}

absl::Status CheckPrivate(const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": is no regular file"));
  }
  const mode_t refused = info.st_uid == 0 && ::geteuid() != 0
                             ? S_IWGRP | S_IXGRP | S_IRWXO
                             : S_IRWXG | S_IRWXO;
  if ((info.st_mode & refused) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("%s: mode %04o lets others read the token, run chmod 600",
                      path, info.st_mode & 07777));
}

absl::Status WriteAll(int fd, absl::string_view content,
                      const std::string& path) {
  // Short: the kernel takes it whole or not at all.
  if (::write(fd, content.data(), content.size()) !=
          static_cast<ssize_t>(content.size()) ||
      ::fsync(fd) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot write"));
  }
  return absl::OkStatus();
}

}  // namespace

Token::Token(std::string secret) : secret_(std::move(secret)) {}

Token Token::Random() {
  std::array<char, 32> bytes;
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got =
        ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (got > 0) filled += static_cast<size_t>(got);
  }
  return Token(absl::BytesToHexString({bytes.data(), bytes.size()}));
}

absl::StatusOr<Token> Token::Parse(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.size() < kMinLength || text.size() > kMaxLength ||
      !std::all_of(text.begin(), text.end(), IsTokenCharacter)) {
    return absl::InvalidArgumentError(
        absl::StrCat("token: not well formed, ", kMinLength, " to ", kMaxLength,
                     " characters of [A-Za-z0-9._~+/=-] are accepted"));
  }
  return Token(std::string(text));
}

TokenHash::TokenHash(const Token& token) : hash_(Sha256(token.secret())) {}

bool TokenHash::Matches(absl::string_view secret) const {
  const auto other = Sha256(secret);
  return ::CRYPTO_memcmp(hash_.data(), other.data(), hash_.size()) == 0;
}

absl::StatusOr<Token> LoadToken(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat(path, ": cannot read the token"));
  }
  struct stat info {};
  char buffer[kMaxLength + 16];
  ssize_t got = 0;
  absl::Status status;
  if (::fstat(fd, &info) != 0) {
    status = absl::ErrnoToStatus(errno, path);
  } else {
    status = CheckPrivate(info, path);
  }
  if (status.ok()) {
    got = ::read(fd, buffer, sizeof(buffer));
    if (got < 0) {
      status = absl::ErrnoToStatus(
          errno, absl::StrCat(path, ": cannot read the token"));
    }
  }
  ::close(fd);
  if (!status.ok()) return status;
  auto token = Token::Parse({buffer, static_cast<size_t>(got)});
  if (!token.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", token.status().message()));
  }
  return token;
}

absl::StatusOr<Token> LoadOrCreateToken(const std::string& path) {
  auto existing = LoadToken(path);
  if (!absl::IsNotFound(existing.status())) return existing;
  // Writes a file of another name and links it: whoever sees `path` sees the
  // whole token, and link() refuses to replace another's.
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);  // O_EXCL, 0600
  if (fd < 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat(path, ": cannot create the token"));
  }
  const Token token = Token::Random();
  absl::Status status =
      WriteAll(fd, absl::StrCat(token.secret(), "\n"), temporary);
  ::close(fd);
  const bool linked =
      status.ok() && ::link(temporary.c_str(), path.c_str()) == 0;
  const int link_error = errno;
  ::unlink(temporary.c_str());
  if (!status.ok()) return status;
  if (linked) return token;
  if (link_error == EEXIST) return LoadToken(path);
  return absl::ErrnoToStatus(link_error,
                             absl::StrCat(path, ": cannot create the token"));
}

}  // namespace epochd::net
