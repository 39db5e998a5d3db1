// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/builtin.h"

#include "worker/engine/data/digits.h"
#include "worker/engine/data/idx.h"
#include "worker/engine/data/image/field_parameters.h"
#include "worker/engine/data/tensor_file.h"
#include "worker/engine/data/transforms.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;

const Parameter kField{.name = "field",
                       .type = "string",
                       .default_value = "input",
                       .help = "field to change"};
const Parameter kFields = ImageFieldParameters().back();
const Parameter kProbability{.name = "p",
                             .type = "float",
                             .default_value = 0.5,
                             .min = 0,
                             .max = 1,
                             .help = "how often a sample is flipped"};
const Parameter kFill{.name = "fill",
                      .type = "float",
                      .default_value = 0.0,
                      .help = "value outside of the image"};

Component Digits() {
  return {.kind = "dataset",
          .name = "Digits",
          .help = "digits as CSV: grey levels, then the label",
          .parameters = {
              {.name = "file",
               .type = "path",
               .required = true,
               .help = "CSV file, plain or gzip"},
              {.name = "split",
               .type = "string",
               .default_value = "train",
               .choices = {"train", "val", "all"},
               .help = "seeded, stratified part of the file"},
              {.name = "val_fraction",
               .type = "float",
               .default_value = 0.2,
               .min = 0,
               .max = 1,
               .help = "part of each class that is `val`"},
              {.name = "split_seed",
               .type = "int",
               .default_value = 0,
               .min = 0,
               .help = "seed of the split; the job's seed does not change it"},
              {.name = "image",
               .type = "bool",
               .default_value = false,
               .help = "give [1, H, W] instead of [H*W]"}}};
}

std::shared_ptr<Dataset> MakeDigits(const Params& params) {
  return LoadDigits(
      {.file = params.String("file"),
       .split = params.String("split"),
       .val_fraction = params.Float("val_fraction"),
       .split_seed = static_cast<uint64_t>(params.Int("split_seed")),
       .image = params.Bool("image")});
}

Component Idx() {
  return {.kind = "dataset",
          .name = "Idx",
          .aliases = {"MNIST"},
          .help = "images and labels in IDX files, as MNIST comes",
          .parameters = {{.name = "images",
                          .type = "path",
                          .required = true,
                          .help = "IDX file [N, H, W], plain or gzip"},
                         {.name = "labels",
                          .type = "path",
                          .help = "IDX file [N], plain or gzip"},
                         {.name = "scale",
                          .type = "bool",
                          .default_value = true,
                          .help = "divide grey levels by 255"}}};
}

std::shared_ptr<Dataset> MakeIdx(const Params& params) {
  return LoadIdx({.images = params.String("images"),
                  .labels = params.OptionalString("labels").value_or(""),
                  .scale = params.Bool("scale")});
}

Component TensorFile() {
  return {.kind = "dataset",
          .name = "TensorFile",
          .help = "arrays from npy, npz or safetensors files, a sample per row",
          .parameters =
              {{.name = "file",
                .type = "path",
                .help = "safetensors or .npz file; each array is a field, or "
                        "those of `fields`"},
               {.name = "fields",
                .type = "map<string>",
                .min_items = 1,
                .help = "field to the name of its array in `file`: {input: "
                        "x_train, target: y_train}; others are not read"},
               {.name = "input",
                .type = "path",
                .help = "npy file of the field `input`"},
               {.name = "target",
                .type = "path",
                .help = "npy file of the field `target`"},
               {.name = "files",
                .type = "map<path>",
                .min_items = 1,
                .help = "further fields, such as mask, sample_weight or group, "
                        "to their npy files"}},
          .rules = {{.check = catalogue::Rule::Check::kNeeds,
                     .of = {"fields", "file"}}}};
}

TensorFileOptions::Sources SourcesOf(const Params& params, const char* name) {
  TensorFileOptions::Sources sources;
  if (!params.Has(name)) return sources;
  for (const auto& [field, source] : params.Raw(name).items()) {
    sources.emplace_back(field, source.get<std::string>());
  }
  return sources;
}

std::shared_ptr<Dataset> MakeTensorFile(const Params& params) {
  return LoadTensorFile({.file = params.OptionalString("file").value_or(""),
                         .input = params.OptionalString("input").value_or(""),
                         .target = params.OptionalString("target").value_or(""),
                         .fields = SourcesOf(params, "fields"),
                         .files = SourcesOf(params, "files")});
}

Component NormalizeComponent() {
  return {.kind = "transform",
          .name = "Normalize",
          .help = "(x - mean) / std, for all values or per channel",
          .parameters = {{.name = "mean",
                          .type = "list<float>",
                          .required = true,
                          .scalar_ok = true,
                          .help = "one value, or one per channel"},
                         {.name = "std",
                          .type = "list<float>",
                          .required = true,
                          .min = 0,
                          .exclusive_min = true,
                          .scalar_ok = true,
                          .help = "as many as mean, above 0"},
                         kField}};
}

std::shared_ptr<Transform> MakeNormalize(const Params& params) {
  return std::make_shared<Normalize>(
      params.Floats("mean"), params.Floats("std"), params.String("field"));
}

Component ClampComponent() {
  return {.kind = "transform",
          .name = "Clamp",
          .help = "brings values into a range, such as those of an image",
          .parameters = {{.name = "min",
                          .type = "float",
                          .default_value = 0.0,
                          .help = "what lies below becomes it"},
                         {.name = "max",
                          .type = "float",
                          .default_value = 1.0,
                          .help = "what lies above becomes it"},
                         kField},
          .rules = {
              {.check = catalogue::Rule::Check::kLess, .of = {"min", "max"}}}};
}

std::shared_ptr<Transform> MakeClamp(const Params& params) {
  return std::make_shared<Clamp>(params.Float("min"), params.Float("max"),
                                 params.String("field"));
}

Component PermuteComponent() {
  return {.kind = "transform",
          .name = "Permute",
          .help = "turns dimensions round, such as [H, W, C] into [C, H, W]",
          .parameters = {{.name = "dims",
                          .type = "list<int>",
                          .required = true,
                          .min = 0,
                          .min_items = 1,
                          .help = "dimensions of a sample in their new order, "
                                  "each once: [2, 0, 1]"},
                         kField}};
}

std::shared_ptr<Transform> MakePermute(const Params& params) {
  return std::make_shared<Permute>(params.Ints("dims"), params.String("field"));
}

Component UnsqueezeComponent() {
  return {.kind = "transform",
          .name = "Unsqueeze",
          .help = "adds a dimension of 1, such as the channel of [H, W]",
          .parameters = {{.name = "dim",
                          .type = "int",
                          .default_value = 0,
                          .min = -1,
                          .help = "its place in the new shape of a sample; -1: "
                                  "the last"},
                         kField}};
}

std::shared_ptr<Transform> MakeUnsqueeze(const Params& params) {
  return std::make_shared<Unsqueeze>(params.Int("dim"), params.String("field"));
}

template <bool kVertical>
std::shared_ptr<Transform> MakeFlip(const Params& params) {
  return std::make_shared<RandomFlip>(kVertical, params.Float("p"),
                                      ImageFieldsOf(params));
}

Component RandomCropComponent() {
  return {.kind = "transform",
          .name = "RandomCrop",
          .help = "pads, then cuts out a window at a random place",
          .parameters = {{.name = "size",
                          .type = "list<int>",
                          .required = true,
                          .min = 1,
                          .scalar_ok = true,
                          .min_items = 1,
                          .max_items = 2,
                          .help = "side, or [height, width]"},
                         {.name = "padding",
                          .type = "int",
                          .default_value = 0,
                          .min = 0,
                          .help = "pixels added on each side first"},
                         kFill,
                         LabelFillParameter(),
                         kField,
                         kFields}};
}

std::shared_ptr<Transform> MakeRandomCrop(const Params& params) {
  const std::vector<int64_t> size = params.Ints("size");
  return std::make_shared<RandomCrop>(
      size.front(), size.back(), params.Int("padding"), params.Float("fill"),
      ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeRandomShift(const Params& params) {
  return std::make_shared<RandomShift>(
      params.Int("pixels"), params.Float("fill"), ImageFieldsOf(params));
}

}  // namespace

std::vector<Entry<Dataset>> BuiltinDatasets() {
  return {
      {Digits(), MakeDigits}, {Idx(), MakeIdx}, {TensorFile(), MakeTensorFile}};
}

std::vector<Entry<Transform>> BuiltinTransforms() {
  return {{NormalizeComponent(), MakeNormalize},
          {ClampComponent(), MakeClamp},
          {{.kind = "transform",
            .name = "RandomHorizontalFlip",
            .help = "mirrors images left to right",
            .parameters = {kProbability, kField, kFields}},
           MakeFlip<false>},
          {{.kind = "transform",
            .name = "RandomVerticalFlip",
            .help = "mirrors images top to bottom",
            .parameters = {kProbability, kField, kFields}},
           MakeFlip<true>},
          {RandomCropComponent(), MakeRandomCrop},
          {{.kind = "transform",
            .name = "RandomShift",
            .help = "moves images by up to some pixels each way",
            .parameters = {{.name = "pixels",
                            .type = "int",
                            .required = true,
                            .min = 0,
                            .help = "most pixels along each axis"},
                           kFill,
                           LabelFillParameter(),
                           kField,
                           kFields}},
           MakeRandomShift},
          {PermuteComponent(), MakePermute},
          {UnsqueezeComponent(), MakeUnsqueeze}};
}

}  // namespace epochd::engine
