// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/tensor_file.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/npy.h"
#include "worker/engine/data/table/npz.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {

namespace {

[[noreturn]] void RefuseTensors(const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "TensorFile: " + problem);
}

// The arrays of `file`, and the names of all that it has.
std::vector<NamedTensor> ReadArrays(const TensorFileOptions& options,
                                    std::vector<std::string>& names) {
  const auto is_wanted = [&](const std::string& name) {
    names.push_back(name);
    return options.fields.empty() ||
           std::any_of(options.fields.begin(), options.fields.end(),
                       [&](const auto& field) { return field.second == name; });
  };
  try {
    if (options.file.ends_with(".npz")) {
      return ReadNpz(options.file, is_wanted);
    }
    std::vector<NamedTensor> tensors = MapSafetensors(options.file);
    for (const NamedTensor& each : tensors) names.push_back(each.name);
    return tensors;
  } catch (const Error& error) {
    // A broken file of the user's stays broken, however often it is read.
    RefuseTensors(std::string("file: ") + error.what());
  }
}

void AddArrays(const TensorFileOptions& options, Batch& columns) {
  std::vector<std::string> names;
  std::vector<NamedTensor> arrays = ReadArrays(options, names);
  if (options.fields.empty()) {
    for (auto& [name, tensor] : arrays) columns.Set(name, std::move(tensor));
    return;
  }
  for (const auto& [field, array] : options.fields) {
    const auto found = std::find_if(
        arrays.begin(), arrays.end(),
        [&](const NamedTensor& each) { return each.name == array; });
    if (found == arrays.end()) {
      std::string known;
      for (const std::string& name : names) {
        known += (known.empty() ? "" : ", ") + name;
      }
      RefuseTensors("fields: \"" + options.file + "\" has no array \"" + array +
                    "\"; it has " + (known.empty() ? "none" : known));
    }
    columns.Set(field, found->tensor);
  }
}

}  // namespace

std::shared_ptr<Dataset> LoadTensorFile(const TensorFileOptions& options) {
  Batch columns;
  if (!options.file.empty()) AddArrays(options, columns);
  const auto add = [&columns](const std::string& parameter,
                              const std::string& field,
                              const std::string& path) {
    if (columns.Find(field) != nullptr) {
      RefuseTensors(parameter + ": field \"" + field +
                    "\" is there already, from another file");
    }
    columns.Set(field, ReadNpy(path));
  };
  if (!options.input.empty()) add("input", "input", options.input);
  if (!options.target.empty()) add("target", "target", options.target);
  for (const auto& [field, path] : options.files) add("files", field, path);
  if (columns.empty()) {
    RefuseTensors(
        "names no file; `file` (safetensors, npz), `input` or `files` (npy) is "
        "needed");
  }
  return std::make_shared<TensorDataset>(std::move(columns));
}

}  // namespace epochd::engine
