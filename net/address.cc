// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace epochd::net {
namespace {

bool IsHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

}  // namespace

std::string Address::ToString() const {
  return host.find(':') == std::string::npos
             ? absl::StrCat(host, ":", port)
             : absl::StrCat("[", host, "]:", port);
}

bool Address::IsLoopback() const {
  if (host == "localhost") return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  in6_addr v6{};
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::StatusOr<Address> ParseAddress(const std::string& what,
                                     const std::string& text) {
  const auto bad = [&](const char* problem) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", problem, " in '", text,
                     "', write host:port such as 127.0.0.1:7950"));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return bad("no port");
  Address address;
  address.host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      std::all_of(port.begin(), port.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || !absl::SimpleAtoi(port, &address.port) ||
      address.port > 65535) {
    return bad("no port of 0 to 65535");
  }
  if (address.host.size() > 2 && address.host.front() == '[' &&
      address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
    in6_addr v6{};
    if (::inet_pton(AF_INET6, address.host.c_str(), &v6) != 1) {
      return bad("no IPv6 address between the brackets");
    }
    return address;
  }
  if (address.host.empty() || address.host.size() > 253 ||
      !std::all_of(address.host.begin(), address.host.end(), IsHostCharacter)) {
    return bad("no host name or address");
  }
  return address;
}

}  // namespace epochd::net
