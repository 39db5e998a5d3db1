// SPDX-License-Identifier: Apache-2.0
//
// Where epochd keeps things of this account unless told otherwise. Reads the
// environment at each call; call from main() before threads start.
#pragma once

#include <string>

namespace epochd::program {

// $EPOCHD_HOME, else $XDG_DATA_HOME/epochd, else ~/.local/share/epochd, else
// (no home folder at all) /var/lib/epochd.
std::string HomeDir();

// The coordinator's state folder: HomeDir()/coordinator.
std::string DefaultCoordinatorDir();

// The agent's folder: HomeDir()/worker.
std::string DefaultWorkerDir();

// The token that the coordinator of this account wrote at its first start, so
// that its client and worker find it: DefaultCoordinatorDir()/token.
std::string DefaultTokenFile();

}  // namespace epochd::program
