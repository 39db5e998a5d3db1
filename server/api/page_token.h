// SPDX-License-Identifier: Apache-2.0
//
// Where a list goes on, opaque to the caller and good for the query that made
// it alone. Stateless.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace epochd::api {

// `query`: everything that decides which items there are, in any fixed form.
std::string MakePageToken(const std::string& position,
                          const std::string& query);

// The position; InvalidArgument for what MakePageToken did not make of `query`.
absl::StatusOr<std::string> ReadPageToken(const std::string& token,
                                          const std::string& query);

// 0 is `usual`, more than `most` is `most`. InvalidArgument below 0.
absl::StatusOr<int32_t> PageSize(int32_t asked, int32_t usual, int32_t most);

}  // namespace epochd::api
