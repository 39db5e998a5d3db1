// SPDX-License-Identifier: Apache-2.0
//
// A record's bytes followed by their CRC-32, little-endian.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace epochd::store {

std::string Seal(std::string bytes);
// Empty when the checksum does not fit.
std::optional<std::string_view> Unseal(std::string_view record);

}  // namespace epochd::store
