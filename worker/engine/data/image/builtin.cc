// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/builtin.h"

#include <algorithm>
#include <utility>

#include "worker/engine/data/image/cifar.h"
#include "worker/engine/data/image/folders.h"
#include "worker/engine/data/image/image_files.h"
#include "worker/engine/data/image/pairs.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;
using catalogue::Rule;

using Parameters = std::vector<Parameter>;

// All of them, in order.
Parameters Join(std::initializer_list<Parameters> parts) {
  Parameters all;
  for (const Parameters& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Parameters FileParameters() {
  return {
      {.name = "include",
       .type = "list<string>",
       .scalar_ok = true,
       .help =
           "patterns of paths below the folder (`*.png`); others are left out"},
      {.name = "exclude",
       .type = "list<string>",
       .scalar_ok = true,
       .help = "patterns of paths that are left out"}};
}

Parameters DecodeParameters() {
  return {{.name = "mode",
           .type = "string",
           .default_value = "rgb",
           .choices = {"grey", "rgb", "rgba", "unchanged"},
           .help = "channels, converted as Pillow does; alpha is dropped where "
                   "there is none"},
          {.name = "exif_orientation",
           .type = "bool",
           .default_value = false,
           .help = "turn images as their EXIF orientation says"},
          {.name = "max_pixels",
           .type = "int",
           .default_value = kMaxImagePixels,
           .min = 1,
           .help = "larger images are refused before memory is taken"},
          {.name = "cache",
           .type = "size",
           .default_value = "256MiB",
           .help = "most memory for decoded images, kept for later epochs; "
                   "shared by the loader's threads"}};
}

Parameters PatchParameters(const std::string& of_what) {
  return {{.name = "patch_size",
           .type = "int",
           .min = 1,
           .aliases = {"gt_size", "crop_size"},
           .help = "side of the square cut from each " + of_what +
                   "; whole images without it"},
          {.name = "crop",
           .type = "string",
           .default_value = "random",
           .choices = {"random", "center", "grid"},
           .help = "where patches are cut: at random in each epoch, from the "
                   "middle, or all squares of a grid"},
          {.name = "repeat",
           .type = "int",
           .default_value = 1,
           .min = 1,
           .aliases = {"dataset_enlarge_ratio"},
           .help = "samples of each image in an epoch, of random patches"}};
}

// The same samples again would be of no use.
std::vector<Rule> PatchRules() {
  return {{.check = Rule::Check::kIs,
           .of = {"repeat"},
           .values = {1},
           .when = {{"crop", {"center", "grid"}}}}};
}

// Patches of both images lie at whole pixels.
std::vector<Rule> PairRules() {
  std::vector<Rule> rules = PatchRules();
  rules.push_back(
      {.check = Rule::Check::kDivides, .of = {"scale", "patch_size"}});
  return rules;
}

Parameter DataType() {
  return {.name = "dtype",
          .type = "string",
          .default_value = "float32",
          .choices = {"float32", "uint8"},
          .help = "float32 in [0, 1], or uint8 for transforms to convert"};
}

ImageFileOptions FilesOf(const Params& params, const char* folder) {
  return {.folder = params.String(folder),
          .include = params.Strings("include"),
          .exclude = params.Strings("exclude")};
}

DecodeOptions DecodeOf(const Params& params) {
  return {.mode = ParseImageMode(params.String("mode")),
          .max_pixels = params.Int("max_pixels"),
          .exif_orientation = params.Bool("exif_orientation")};
}

PatchOptions PatchOf(const Params& params) {
  PatchOptions patch;
  patch.size = params.OptionalInt("patch_size").value_or(0);
  patch.repeat = params.Int("repeat");
  const std::string crop = params.String("crop");
  if (patch.size > 0) {
    patch.kind = crop == "grid"     ? PatchKind::kGrid
                 : crop == "center" ? PatchKind::kCenter
                                    : PatchKind::kRandom;
  }
  if (patch.repeat > 1 && patch.kind != PatchKind::kRandom) {
    params.Fail("repeat", std::to_string(patch.repeat) +
                              " without random patches, which would give the "
                              "same samples again; 1 is accepted");
  }
  return patch;
}

int64_t CacheOf(const Params& params) {
  return catalogue::ParseBytes(params.String("cache")).value_or(0);
}

ImageDataOptions ImageDataOf(const Params& params) {
  return {.files = FilesOf(params, "folder"),
          .decode = DecodeOf(params),
          .patch = PatchOf(params),
          .cache_bytes = CacheOf(params),
          .as_float = params.String("dtype") == "float32"};
}

PairOptions PairOf(const Params& params) {
  return {.decode = DecodeOf(params),
          .patch = PatchOf(params),
          .cache_bytes = CacheOf(params),
          .scale = params.OptionalInt("scale").value_or(0)};
}

Component ImageFolder() {
  std::vector<Rule> rules = PatchRules();
  rules.push_back({.check = Rule::Check::kDistinct, .of = {"classes"}});
  return {.kind = "dataset",
          .name = "ImageFolder",
          .help = "PNG and JPEG images in a folder for each class",
          .parameters =
              Join({Parameters{{.name = "folder",
                                .type = "path",
                                .required = true,
                                .aliases = {"root"},
                                .help = "holds a folder for each class"},
                               {.name = "classes",
                                .type = "list<string>",
                                .help = "folders in the order of their labels; "
                                        "sorted by name without it"}},
                    FileParameters(), DecodeParameters(),
                    PatchParameters("image"), Parameters{DataType()}}),
          .rules = std::move(rules)};
}

std::shared_ptr<Dataset> MakeImageFolder(const Params& params) {
  const std::vector<std::string> classes = params.Strings("classes");
  auto dataset = LoadImageFolder(ImageDataOf(params), classes);
  if (!classes.empty()) return dataset;
  // So that weights and scores by number can be read.
  constexpr size_t kTold = 20;
  const std::vector<std::string> names = ListFolders(params.String("folder"));
  std::string text = params.path() + ": classes are ";
  for (size_t i = 0; i < std::min(names.size(), kTold); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(i) + " " + names[i];
  }
  if (names.size() > kTold) {
    text += " and " + std::to_string(names.size() - kTold) + " more";
  }
  params.Notice("info", text);
  return dataset;
}

Component ImageFiles() {
  return {
      .kind = "dataset",
      .name = "ImageFiles",
      .help = "PNG and JPEG images below a folder, without labels",
      .parameters = Join({Parameters{{.name = "folder",
                                      .type = "path",
                                      .required = true,
                                      .aliases = {"root"},
                                      .help = "holds the images"}},
                          FileParameters(), DecodeParameters(),
                          PatchParameters("image"), Parameters{DataType()}}),
      .rules = PatchRules()};
}

std::shared_ptr<Dataset> MakeImageFiles(const Params& params) {
  return LoadImageFiles(ImageDataOf(params));
}

Component DegradedImages() {
  return {
      .kind = "dataset",
      .name = "DegradedImages",
      .aliases = {"SuperResolution"},
      .help =
          "high-resolution images (`target`), and low-resolution ones made "
          "from them by bicubic resizing (`input`)",
      .parameters = Join(
          {Parameters{
               {.name = "folder",
                .type = "path",
                .required = true,
                .aliases = {"dataroot_gt"},
                .help = "holds the high-resolution images"},
               {.name = "scale",
                .type = "int",
                .default_value = 2,
                .min = 1,
                .max = 16,
                .help = "how much smaller the input is"},
               {.name = "kernel",
                .type = "string",
                .default_value = "pillow",
                .choices = {"pillow", "matlab"},
                .help = "whose bicubic: Pillow's resize or MATLAB's imresize"}},
           FileParameters(), DecodeParameters(),
           PatchParameters("high-resolution image, a multiple of scale")}),
      .rules = PairRules()};
}

std::shared_ptr<Dataset> MakeDegradedImages(const Params& params) {
  return LoadDegradedImages(FilesOf(params, "folder"),
                            params.String("kernel") == "matlab"
                                ? Resampling::kMatlabBicubic
                                : Resampling::kPillowBicubic,
                            PairOf(params));
}

Component PairedImages() {
  return {.kind = "dataset",
          .name = "PairedImages",
          .help =
              "low-resolution images (`input`) and their high-resolution "
              "versions (`target`), matched by name",
          .parameters = Join(
              {Parameters{{.name = "low",
                           .type = "path",
                           .required = true,
                           .aliases = {"dataroot_lq"},
                           .help = "folder of the low-resolution images"},
                          {.name = "high",
                           .type = "path",
                           .required = true,
                           .aliases = {"dataroot_gt"},
                           .help = "folder of the high-resolution images"},
                          {.name = "low_suffix",
                           .type = "string",
                           .default_value = "",
                           .help = "what low-resolution names have before the "
                                   "extension, such as x2"},
                          {.name = "scale",
                           .type = "int",
                           .min = 1,
                           .help = "how much smaller the input is; that of the "
                                   "first pair without it"},
                          {.name = "target_mode",
                           .type = "string",
                           .choices = {"grey", "rgb", "rgba", "unchanged"},
                           .help = "channels of the target; those of `mode` by "
                                   "default, of int64 as in the file"},
                          {.name = "target_dtype",
                           .type = "string",
                           .default_value = "float32",
                           .choices = {"float32", "int64"},
                           .help = "float32 in [0, 1], or int64 [H, W]: grey "
                                   "levels, as they are, are classes"}},
               FileParameters(), DecodeParameters(),
               PatchParameters("high-resolution image, a multiple of scale")}),
          .rules = PairRules()};
}

std::shared_ptr<Dataset> MakePairedImages(const Params& params) {
  ImageFileOptions low = FilesOf(params, "low");
  ImageFileOptions high = low;
  high.folder = params.String("high");
  PairOptions options = PairOf(params);
  options.has_labels = params.String("target_dtype") == "int64";
  if (const auto mode = params.OptionalString("target_mode")) {
    options.target_mode = ParseImageMode(*mode);
  } else if (options.has_labels) {
    options.target_mode = ImageMode::kUnchanged;
  }
  return LoadPairedImages(low, params.String("low_suffix"), high, options);
}

Component Cifar(const std::string& name, Parameters more) {
  return {.kind = "dataset",
          .name = name,
          .help = name + " in its binary version",
          .parameters = Join({Parameters{{.name = "folder",
                                          .type = "path",
                                          .required = true,
                                          .aliases = {"root"},
                                          .help = "holds the .bin files"},
                                         {.name = "split",
                                          .type = "string",
                                          .default_value = "train",
                                          .choices = {"train", "test"},
                                          .help = "which of the files"},
                                         DataType()},
                              more})};
}

std::shared_ptr<Dataset> MakeCifar(const Params& params, CifarKind kind) {
  std::vector<std::string> files = CifarFiles(kind, params.String("split"));
  for (std::string& file : files) {
    file = params.String("folder") + "/" + file;
  }
  return LoadCifar(files, kind, params.String("dtype") == "float32");
}

std::shared_ptr<Dataset> MakeCifar10(const Params& params) {
  return MakeCifar(params, CifarKind::k10);
}

std::shared_ptr<Dataset> MakeCifar100(const Params& params) {
  return MakeCifar(params, params.String("labels") == "fine"
                               ? CifarKind::k100Fine
                               : CifarKind::k100Coarse);
}

}  // namespace

std::vector<Entry<Dataset>> BuiltinImageDatasets() {
  return {{Cifar("CIFAR10", {}), MakeCifar10},
          {Cifar("CIFAR100", {{.name = "labels",
                               .type = "string",
                               .default_value = "fine",
                               .choices = {"fine", "coarse"},
                               .help = "100 classes, or the 20 above them"}}),
           MakeCifar100},
          {DegradedImages(), MakeDegradedImages},
          {ImageFiles(), MakeImageFiles},
          {ImageFolder(), MakeImageFolder},
          {PairedImages(), MakePairedImages}};
}

}  // namespace epochd::engine
