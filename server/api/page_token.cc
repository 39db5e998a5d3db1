// SPDX-License-Identifier: Apache-2.0
#include "server/api/page_token.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status.h"

namespace epochd::api {
namespace {

constexpr size_t kMarkBytes = 12;

// Ties a position to its query, so that a token of another list is refused
// instead of giving a wrong page. Not a secret: it protects no data.
std::string Mark(const std::string& position, const std::string& query) {
  const std::string text =
      absl::StrCat("epochd page 1\n", position.size(), "\n", position, query);
  std::array<unsigned char, 32> hash;
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           hash.data());
  return std::string(reinterpret_cast<const char*>(hash.data()), kMarkBytes);
}

}  // namespace

std::string MakePageToken(const std::string& position,
                          const std::string& query) {
  return absl::WebSafeBase64Escape(
      absl::StrCat(Mark(position, query), position));
}

absl::StatusOr<std::string> ReadPageToken(const std::string& token,
                                          const std::string& query) {
  std::string bytes;
  if (token.size() <= 1024 && absl::WebSafeBase64Unescape(token, &bytes) &&
      bytes.size() > kMarkBytes) {
    std::string position = bytes.substr(kMarkBytes);
    if (bytes.substr(0, kMarkBytes) == Mark(position, query)) return position;
  }
  return wire::BadRequest(
      {{"page_token",
        "not of this query, the next_page_token of the same query is "
        "accepted"}});
}

absl::StatusOr<int32_t> PageSize(int32_t asked, int32_t usual, int32_t most) {
  if (asked < 0) {
    return wire::BadRequest(
        {{"page_size", absl::StrCat("'", asked, "' is negative, 0 to ", most,
                                    " is accepted")}});
  }
  return asked == 0 ? usual : std::min(asked, most);
}

}  // namespace epochd::api
