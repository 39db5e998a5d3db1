// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/engine/data/image/recorded.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/registry/build_scope.h"
#include "worker/engine/registry/builtin.h"

namespace epochd::engine {

std::string GoldenPath(const std::string& file) {
  const char* source = std::getenv("EPOCHD_TEST_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/tests/golden/" +
         file;
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::map<std::string, at::Tensor>& RecordedImages() {
  static const std::map<std::string, at::Tensor> recorded = [] {
    std::map<std::string, at::Tensor> by_name;
    for (NamedTensor& each :
         ReadSafetensors(GoldenPath("images.safetensors"))) {
      by_name[each.name] = std::move(each.tensor);
    }
    return by_name;
  }();
  return recorded;
}

const at::Tensor& Recorded(const std::string& name) {
  return RecordedImages().at(name);
}

namespace {

template <class T>
std::shared_ptr<T> Build(const std::string& json, const std::string& path,
                         std::vector<std::string>* notices = nullptr) {
  static const Registry registry = [] {
    Registry filled;
    AddBuiltins(filled);
    filled.Freeze();
    return filled;
  }();
  const catalogue::Json nothing = catalogue::Json::object();
  BuildScope scope(registry, nothing, "experiment");
  if (notices != nullptr) {
    scope.SetNotices(
        [notices](std::string_view severity, const std::string& text) {
          notices->push_back(std::string(severity) + " " + text);
        });
  }
  return scope.MakeAs<T>(catalogue::Json::parse(json), path);
}

}  // namespace

std::shared_ptr<Dataset> BuildDataset(const std::string& json,
                                      std::vector<std::string>* notices) {
  return Build<Dataset>(json, "experiment.data.train", notices);
}

std::shared_ptr<Transform> BuildTransform(const std::string& json) {
  return Build<Transform>(json, "transform");
}

std::string CopyImage(const TempFolder& folder, const std::string& image,
                      const std::string& name) {
  return folder.Write(name, ReadBytes(GoldenPath("images/" + image)));
}

}  // namespace epochd::engine
