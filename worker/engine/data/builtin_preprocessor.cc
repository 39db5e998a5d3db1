// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/builtin_preprocessor.h"

#include <set>
#include <string>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/batch_augments.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;
using catalogue::Rule;

Component Device() {
  Component device{.kind = "preprocessor",
                   .name = "DevicePreprocessor",
                   .aliases = {"ImgDataPreprocessor", "BaseDataPreprocessor",
                               "ClsDataPreprocessor"},
                   .help =
                       "makes each batch ready on the device: channel swap, "
                       "normalization, padding, batch augments, cast"};
  device.parameters = {
      {.name = "field",
       .type = "list<string>",
       .default_value = "input",
       .aliases = {"fields"},
       .scalar_ok = true,
       .min_items = 1,
       .help = "what is made ready; the mask is of the first"},
      {.name = "bgr_to_rgb",
       .type = "bool",
       .default_value = false,
       .aliases = {"rgb_to_bgr"},
       .help = "turn the order of three channels round"},
      {.name = "mean",
       .type = "list<float>",
       .scalar_ok = true,
       .help = "one, or one per channel"},
      {.name = "std",
       .type = "list<float>",
       .min = 0,
       .exclusive_min = true,
       .scalar_ok = true,
       .help = "as many as mean"},
      {.name = "pad_size_divisor",
       .type = "int",
       .default_value = 1,
       .min = 1,
       .max = 65536,
       .help = "height and width (length) are padded up to a multiple"},
      {.name = "pad_value",
       .type = "float",
       .default_value = 0.0,
       .help = "what they are padded with, after normalization"},
      {.name = "pad_fields",
       .type = "list<string>",
       .scalar_ok = true,
       .help = "further fields laid out as the first, such as dense targets, "
               "which are padded alike and nothing else; they may be larger by "
               "a whole factor"},
      {.name = "pad_label",
       .type = "int",
       .default_value = -100,
       .help = "what whole numbers among `pad_fields` are padded with; bool "
               "with false"},
      {.name = "mask",
       .type = "string",
       .default_value = "mask",
       .help = "field that is made where padding is on: true where the batch "
               "was real"},
      {.name = "cast",
       .type = "string",
       .choices = {"float32", "float64", "float16", "bfloat16"},
       .help = "type of what the model sees"},
      {.name = "non_blocking",
       .type = "bool",
       .default_value = true,
       .help = "go on while a batch in pinned memory is copied to the device"},
      {.name = "batch_augments",
       .type = "list<component<batch_augment>>",
       .default_value = Json::array(),
       .scalar_ok = true,
       .help = "in training one of them is applied to each batch"},
      {.name = "batch_augment_chances",
       .type = "list<float>",
       .default_value = Json::array(),
       .min = 0,
       .max = 1,
       .aliases = {"probs"},
       .scalar_ok = true,
       .help = "how often each is; what is missing to 1: none is applied; all "
               "alike by default"}};
  device.rules = {{.check = Rule::Check::kTogether, .of = {"mean", "std"}},
                  {.check = Rule::Check::kSameLength, .of = {"std", "mean"}},
                  {.check = Rule::Check::kSumAtMost,
                   .of = {"batch_augment_chances"},
                   .values = {1}},
                  {.check = Rule::Check::kSameLength,
                   .of = {"batch_augment_chances", "batch_augments"},
                   .when = {{.parameter = "batch_augment_chances"}}}};
  return device;
}

std::shared_ptr<Preprocessor> MakeDevice(const Params& params) {
  DevicePreprocessor::Options options;
  options.fields = params.Strings("field");
  options.swap_channels = params.Bool("bgr_to_rgb");
  options.mean = params.Floats("mean");
  options.std = params.Floats("std");
  options.pad_multiple = params.Int("pad_size_divisor");
  options.pad_value = params.Float("pad_value");
  options.pad_fields = params.Strings("pad_fields");
  options.pad_label = params.Int("pad_label");
  options.mask = params.String("mask");
  options.non_blocking = params.Bool("non_blocking");
  if (const auto cast = params.OptionalString("cast")) {
    options.cast = *cast == "float32"   ? at::kFloat
                   : *cast == "float64" ? at::kDouble
                   : *cast == "float16" ? at::kHalf
                                        : at::kBFloat16;
  }
  options.augments = params.MakeList<BatchAugment>("batch_augments");
  options.augment_chances = params.Floats("batch_augment_chances");
  return std::make_shared<DevicePreprocessor>(std::move(options));
}

const Parameter kInput{.name = "input",
                       .type = "string",
                       .default_value = "input",
                       .help = "field that is mixed"};
const Parameter kTarget{.name = "target",
                        .type = "string",
                        .default_value = "target",
                        .help = "field of labels, which mix alike"};
const Parameter kNumClasses{
    .name = "num_classes",
    .type = "int",
    .min = 1,
    .help = "needed where labels are class indices: they become probabilities"};
const Parameter kAlso{
    .name = "also",
    .type = "list<string>",
    .scalar_ok = true,
    .help =
        "further fields that mix alike, such as [mask, sample_weight]: as "
        "the input those of its height and width (length), others as "
        "labels; `mask` by default, where there is one"};
Parameter Alpha(double value) {
  return {.name = "alpha",
          .type = "float",
          .default_value = value,
          .min = 0,
          .exclusive_min = true,
          .help = "lambda is drawn from Beta(alpha, alpha)"};
}

MixedFields ReadFields(const Params& params) {
  MixedFields fields{
      .input = params.String("input"),
      .target = params.String("target"),
      .num_classes = params.OptionalInt("num_classes").value_or(0)};
  if (!params.Has("also")) return fields;
  fields.also = params.Strings("also");
  std::set<std::string> mixed = {fields.input, fields.target};
  for (const std::string& name : *fields.also) {
    if (mixed.insert(name).second) continue;
    params.Fail("also", "\"" + name +
                            "\" is mixed anyway; other fields, each once, are "
                            "accepted");
  }
  return fields;
}

template <class Augment>
std::shared_ptr<BatchAugment> MakeByAlpha(const Params& params) {
  return std::make_shared<Augment>(ReadFields(params), params.Float("alpha"));
}

std::shared_ptr<BatchAugment> MakeMosaic(const Params& params) {
  return std::make_shared<Mosaic>(ReadFields(params), params.Float("margin"));
}

}  // namespace

std::vector<Entry<Preprocessor>> BuiltinPreprocessors() {
  return {{Device(), MakeDevice}};
}

std::vector<Entry<BatchAugment>> BuiltinBatchAugments() {
  return {
      {{.kind = "batch_augment",
        .name = "MixUp",
        .aliases = {"Mixup"},
        .help = "each sample is mixed with its neighbour",
        .parameters = {Alpha(1.0), kInput, kTarget, kNumClasses, kAlso}},
       MakeByAlpha<MixUp>},
      {{.kind = "batch_augment",
        .name = "CutMix",
        .help = "each sample has a box, or a stretch, of its neighbour's",
        .parameters = {Alpha(1.0), kInput, kTarget, kNumClasses, kAlso}},
       MakeByAlpha<CutMix>},
      {{.kind = "batch_augment",
        .name = "Mosaic",
        .help = "each sample is made of a quarter of each of four",
        .parameters = {{.name = "margin",
                        .type = "float",
                        .default_value = 0.25,
                        .min = 0,
                        .max = 0.5,
                        .help = "the quarters meet this far from the sides, as "
                                "a part of them"},
                       kInput,
                       kTarget,
                       kNumClasses,
                       kAlso}},
       MakeMosaic}};
}

}  // namespace epochd::engine
