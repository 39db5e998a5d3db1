// SPDX-License-Identifier: Apache-2.0
//
// safetensors files: 8 bytes little-endian length of the header, the header (a
// JSON object of name -> {dtype, shape, data_offsets}), then the data. What is
// written, Python's safetensors reads; what is read may come from anywhere and
// is checked: header of at most 100 MB, no key twice, known types, sizes that
// fit their shapes, no overlaps, no holes. U16 is given as int32, U32, and U64
// below 2^63, as int64. Plain functions; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "worker/engine/checkpoint/durable_file.h"
#include "worker/engine/core/model.h"

namespace epochd::engine {

// Creates `path` and syncs it. Tensors may be on any device. Throws
// Error(kInfrastructure).
FileSummary WriteSafetensors(
    const std::string& path, const std::vector<NamedTensor>& tensors,
    const std::map<std::string, std::string>& metadata = {});

// Tensors on the CPU, in order of their data, in memory of their own. Throws
// Error(kInfrastructure) naming file and byte where it cannot be read or is
// malformed.
std::vector<NamedTensor> ReadSafetensors(const std::string& path);

// The same for data: big ones are the file's own pages (data/mapped_file.h).
std::vector<NamedTensor> MapSafetensors(const std::string& path);

// The bytes of such a file, to be handed to another process, and back; `path`
// stands in messages.
std::string PackTensors(const std::vector<NamedTensor>& tensors);
std::vector<NamedTensor> UnpackTensors(const std::string& path,
                                       std::string_view file);

}  // namespace epochd::engine
