// SPDX-License-Identifier: Apache-2.0
//
// JobSpec -> the job file that says it: what BuildSpec() reads, written.
// Stateless.
#pragma once

#include "client/job_file/document.h"
#include "epochd/v1/job.pb.h"

namespace epochd::client {

// The job file in the order in which people write one; what the spec leaves
// open is left out. With a catalogue (nullptr: none) the experiment is
// resolved: every default is spelled out. Read again it gives the same spec,
// but for files carried along, which are read anew.
Json ToJobFile(const v1::JobSpec& spec, const catalogue::Catalogue* catalogue);

}  // namespace epochd::client
