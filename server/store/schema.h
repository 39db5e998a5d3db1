// SPDX-License-Identifier: Apache-2.0
//
// The tables of the coordinator's database and their version, kept in the
// file's own header (user_version). `job` columns are submit numbers.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/store/sqlite.h"

namespace epochd::store {

inline constexpr int kSchemaVersion = 3;

// Sets the connection up for durable writes. DataLoss for a file that is not
// ours, damaged, or written by a newer version; adds to one of an older version
// what it lacks; makes the tables in a new one, which then says `cluster_id`,
// unless `may_be_new` has an objection: nothing is written then.
absl::Status PrepareDatabase(Connection& writer, const std::string& cluster_id,
                             const absl::Status& may_be_new);

}  // namespace epochd::store
