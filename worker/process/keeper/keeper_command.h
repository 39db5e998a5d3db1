// SPDX-License-Identifier: Apache-2.0
//
// The cold start's command line, for the program that an agent names as its
// keeper (its own binary):
//
//   PROGRAM keeper --attempt-dir D --rank R [--trainer T] [--listen-fd N]
//
// detaches a keeper that runs the attempt's command, or T as the rank. main()
// calls this before anything else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/process/keeper/rank_request.h"

namespace epochd::keeper {

// nullopt: argv[1] is not `keeper`; else the process's exit code.
std::optional<int> RunKeeperCommand(int argc, char** argv);

// Arguments that make `program` do the above.
std::vector<std::string> KeeperArguments(const std::string& program,
                                         const RankRequest& request,
                                         const std::string& trainer);

}  // namespace epochd::keeper
