// SPDX-License-Identifier: Apache-2.0
//
// What this machine has to offer. Reads the machine at each call; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/agent/types.h"

namespace epochd::agent {

// CPU slots that we may use: the cores of our affinity mask, at most what the
// control group's quota allows; at least one.
int UsableCpus();

// Memory of the machine or of our control group, the smaller one.
int64_t UsableMemory();

// One device per slot, "cpu:<core>". More slots than cores may be asked for;
// their numbers go on after the last core.
std::vector<Device> CpuSlots(int count);

// GPUs by NVML, which is opened at run time; empty where there is no driver.
std::vector<Device> Gpus();

}  // namespace epochd::agent
