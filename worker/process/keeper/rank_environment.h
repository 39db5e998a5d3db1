// SPDX-License-Identifier: Apache-2.0
//
// What a rank finds in its environment. Only what is on the allow-list passes
// from the agent: no credential of ours, no setting of the machine that would
// make runs differ.
//
//   from the agent  PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR
//                   LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR LC_* NCCL_*
//                   GLOO_* NVIDIA_* CUDA_* TORCH_* *SAN_OPTIONS
//                   EPOCHD_PLUGINS EPOCHD_ALLOW_TORCHSCRIPT
//   from the job    its env, but for these two, EPOCHD_CONFIG, which can name
//                   them, and, of an experiment, LD_*, by which the loader runs
//                   anything: whose code a trainer runs is the operator's choice
//   ours, last      RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR
//                   MASTER_PORT OMP_NUM_THREADS CUDA_VISIBLE_DEVICES
//                   EPOCHD_JOB_ID EPOCHD_JOB_NAME EPOCHD_ATTEMPT EPOCHD_EVENTS
//                   EPOCHD_OUTPUT_DIR EPOCHD_RESUME_FROM
#pragma once

#include <string>
#include <vector>

#include "worker/link/attempt_spec.h"

namespace epochd::keeper {

// "NAME=value" entries of our own environment that may pass.
std::vector<std::string> CleanEnvironment();

// All of a rank's environment. OMP_NUM_THREADS yields to the job's own.
std::vector<std::string> RankEnvironment(const link::AttemptSpec& spec,
                                         const std::string& attempt_dir,
                                         const link::RankSpec& rank);

// Pointers into `entries` with the closing null, for execve.
std::vector<char*> Pointers(std::vector<std::string>& entries);

}  // namespace epochd::keeper
