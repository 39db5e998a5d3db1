// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/folders.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/column.h"
#include "worker/engine/data/image/image_cache.h"
#include "worker/engine/data/image/image_source.h"

namespace epochd::engine {
namespace {

class ImageDataset : public Dataset {
 public:
  // `labels`: of each file; undefined: none. `class_names`: HashOf() the folder
  // of each class.
  ImageDataset(const ImageDataOptions& options, std::vector<std::string> files,
               at::Tensor labels, at::Tensor class_names)
      : source_(files, options.decode,
                std::make_shared<ImageCache>(files.size(), options.cache_bytes),
                0),
        plan_(options.patch, source_.size(),
              [this](int64_t i) { return source_.Info(i); }),
        labels_(std::move(labels)),
        class_names_(std::move(class_names)),
        as_float_(options.as_float) {}

  int64_t Size() const override { return plan_.Size(); }
  std::vector<Error> Unreadable() const override { return plan_.unreadable(); }
  std::string SampleName(int64_t index) const override {
    return source_.path(plan_.ImageOf(index));
  }

  Batch Get(int64_t index, const SampleSeed& seed) const override {
    const int64_t number = plan_.ImageOf(index);
    const at::Tensor image = source_.Cut(number, [&](const ImageInfo& info) {
      return plan_.Choose(index, seed, info.height, info.width, 1,
                          source_.path(number));
    });
    // A copy in either case, as what is cached is shared.
    Batch sample{{"input", as_float_ ? ToUnitFloat(image) : image.clone()}};
    if (labels_.defined()) sample.Set("target", labels_[number]);
    return sample;
  }

  at::Tensor Column(std::string_view field) const override {
    if (field == "image") return plan_.ImageColumn();
    if (!labels_.defined()) return {};
    if (field != "target" && field != kClassNames) return {};
    at::Tensor labels = labels_.index_select(0, plan_.ImageColumn());
    return field == "target" ? labels : class_names_.index_select(0, labels);
  }

 private:
  const ImageSource source_;
  const PatchPlan plan_;
  const at::Tensor labels_;
  const at::Tensor class_names_;
  const bool as_float_;
};

}  // namespace

std::shared_ptr<Dataset> LoadImageFiles(const ImageDataOptions& options) {
  return std::make_shared<ImageDataset>(options, ListImages(options.files),
                                        at::Tensor(), at::Tensor());
}

std::shared_ptr<Dataset> LoadImageFolder(
    const ImageDataOptions& options, const std::vector<std::string>& classes) {
  const std::string& root = options.files.folder;
  const std::vector<std::string> folders = ListFolders(root);
  const std::vector<std::string>& names = classes.empty() ? folders : classes;
  if (names.empty()) {
    throw Error(ErrorKind::kBadSpec, "image folder \"" + root +
                                         "\": holds no folder; one for each "
                                         "class is needed");
  }
  for (const std::string& folder : folders) {
    if (std::find(names.begin(), names.end(), folder) == names.end()) {
      throw Error(ErrorKind::kBadSpec, "image folder \"" + root +
                                           "\": holds \"" + folder +
                                           "\", which is not in `classes`");
    }
  }
  std::vector<std::string> files;
  std::vector<int64_t> labels;
  std::vector<int64_t> class_names;
  for (size_t label = 0; label < names.size(); ++label) {
    class_names.push_back(HashOf(names[label]));
    // A class of another part of the data.
    if (!std::binary_search(folders.begin(), folders.end(), names[label])) {
      continue;
    }
    ImageFileOptions of_class = options.files;
    of_class.folder = std::filesystem::path(root) / names[label];
    for (std::string& path : ListImages(of_class)) {
      files.push_back(std::move(path));
      labels.push_back(static_cast<int64_t>(label));
    }
  }
  if (files.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "image folder \"" + root + "\": holds no folder of `classes`");
  }
  return std::make_shared<ImageDataset>(options, std::move(files),
                                        at::tensor(labels, at::kLong),
                                        at::tensor(class_names, at::kLong));
}

}  // namespace epochd::engine
