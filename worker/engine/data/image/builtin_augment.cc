// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "worker/engine/data/image/augment.h"
#include "worker/engine/data/image/builtin.h"
#include "worker/engine/data/image/field_parameters.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;

using Parameters = std::vector<Parameter>;

Component Image(const std::string& name, const std::string& help,
                Parameters parameters) {
  for (Parameter& each : ImageFieldParameters()) {
    parameters.push_back(std::move(each));
  }
  return {.kind = "transform",
          .name = name,
          .help = help,
          .parameters = std::move(parameters)};
}

Parameter Size(const std::string& help) {
  return {.name = "size",
          .type = "list<int>",
          .required = true,
          .min = 1,
          .scalar_ok = true,
          .min_items = 1,
          .max_items = 2,
          .help = help};
}

Parameter InterpolationOf(const std::string& by_default, bool with_bicubic) {
  Parameter parameter{.name = "interpolation",
                      .type = "string",
                      .default_value = by_default,
                      .choices = {"nearest", "bilinear"},
                      .help = "how values between pixels are made"};
  if (with_bicubic) parameter.choices.push_back("bicubic");
  return parameter;
}

Parameter Probability(double by_default, const std::string& help) {
  return {.name = "p",
          .type = "float",
          .default_value = by_default,
          .min = 0,
          .max = 1,
          .help = help};
}

Parameter FillColour() {
  return {.name = "fill",
          .type = "list<float>",
          .default_value = {0.0},
          .scalar_ok = true,
          .help = "value outside of the image, one for all or one per channel"};
}

Parameter Floats(const std::string& name, catalogue::Json by_default,
                 const std::string& help) {
  return {.name = name,
          .type = "list<float>",
          .default_value = std::move(by_default),
          .scalar_ok = true,
          .help = help};
}

// One value, or [least, greatest], within bounds.
Parameter RangeParameter(const std::string& name, catalogue::Json by_default,
                         const std::string& help,
                         std::optional<double> min = {},
                         std::optional<double> max = {}) {
  Parameter range = Floats(name, std::move(by_default), help);
  range.min = min;
  range.max = max;
  range.min_items = 1;
  range.max_items = 2;
  range.order = Parameter::Order::kNotFalling;
  return range;
}

Parameter Positive(Parameter range) {
  range.min = 0;
  range.exclusive_min = true;
  return range;
}

std::pair<int64_t, int64_t> SizeOf(const Params& params) {
  const std::vector<int64_t> size = params.Ints("size");
  return {size.front(), size.back()};
}

// [low, high], or a single value as `spread` makes of it.
template <class Spread>
Range RangeOf(const Params& params, const char* name, Spread spread) {
  const std::vector<double> values = params.Floats(name);
  if (values.size() == 1) return spread(values[0]);
  return {values[0], values[1]};
}

Range Symmetric(double value) { return {-std::abs(value), std::abs(value)}; }

Range RangeOf(const Params& params, const char* name) {
  return RangeOf(params, name, [](double value) {
    return Range{value, value};
  });
}

std::shared_ptr<Transform> MakeCenterCrop(const Params& params) {
  const auto [height, width] = SizeOf(params);
  return std::make_shared<CenterCrop>(height, width, params.Float("fill"),
                                      ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeRotate90(const Params& params) {
  return std::make_shared<RandomRotate90>(params.Float("p"),
                                          ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeRotation(const Params& params) {
  return std::make_shared<RandomRotation>(
      RangeOf(params, "degrees", Symmetric),
      ParseInterpolation(params.String("interpolation")), params.Floats("fill"),
      ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeAffine(const Params& params) {
  RandomAffineOptions options;
  options.degrees = RangeOf(params, "degrees", Symmetric);
  const std::vector<double> translate = params.Floats("translate");
  const std::vector<double> shear = params.Floats("shear");
  options.translate_x = translate.front();
  options.translate_y = translate.back();
  options.scale = RangeOf(params, "scale");
  if (shear.size() == 4) {
    options.shear_x = {shear[0], shear[1]};
    options.shear_y = {shear[2], shear[3]};
  } else if (shear.size() == 3 || (shear.size() == 2 && shear[0] > shear[1])) {
    params.Fail("shear", params.Raw("shear").dump() +
                             "; one value, [least, greatest], or those of x "
                             "and of y, are accepted");
  } else {
    options.shear_x = RangeOf(params, "shear", Symmetric);
  }
  options.interpolation = ParseInterpolation(params.String("interpolation"));
  options.fill = params.Floats("fill");
  return std::make_shared<RandomAffine>(std::move(options),
                                        ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeResize(const Params& params) {
  const std::vector<int64_t> size = params.Ints("size");
  const auto [height, width] = SizeOf(params);
  return std::make_shared<ResizeTo>(
      height, size.size() == 1 ? 0 : width,
      ParseInterpolation(params.String("interpolation")),
      ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeResizedCrop(const Params& params) {
  RandomResizedCropOptions options;
  std::tie(options.height, options.width) = SizeOf(params);
  options.area = RangeOf(params, "scale");
  options.ratio = RangeOf(params, "ratio");
  options.interpolation = ParseInterpolation(params.String("interpolation"));
  return std::make_shared<RandomResizedCrop>(options, ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeColorJitter(const Params& params) {
  const auto factor = [&](const char* name) -> std::optional<Range> {
    if (!params.Has(name)) return std::nullopt;
    return RangeOf(params, name, [](double value) {
      return Range{std::max(0.0, 1 - value), 1 + value};
    });
  };
  ColorJitterOptions options{.brightness = factor("brightness"),
                             .contrast = factor("contrast"),
                             .saturation = factor("saturation"),
                             .hue = std::nullopt};
  if (params.Has("hue")) {
    options.hue = RangeOf(params, "hue", Symmetric);
  }
  return std::make_shared<ColorJitter>(options, ImageFieldsOf(params));
}

template <bool kAlways>
std::shared_ptr<Transform> MakeGrayscale(const Params& params) {
  return std::make_shared<Grayscale>(
      kAlways ? 1.0 : params.Float("p"),
      kAlways ? params.Int("num_output_channels") : 0, ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeErasing(const Params& params) {
  RandomErasingOptions options;
  options.probability = params.Float("p");
  options.area = RangeOf(params, "scale");
  options.ratio = RangeOf(params, "ratio");
  options.value = params.Floats("value");
  options.noise = params.Bool("noise");
  return std::make_shared<RandomErasing>(std::move(options),
                                         ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeCutout(const Params& params) {
  return std::make_shared<Cutout>(params.Int("size"), params.Int("holes"),
                                  params.Float("value"), ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeToFloat(const Params& params) {
  return std::make_shared<ToFloat>(ImageFieldNames(params));
}

}  // namespace

std::vector<Entry<Transform>> BuiltinImageTransforms() {
  const Parameter kDegrees = RangeParameter(
      "degrees", nullptr, "angle from -d to d, or [least, greatest]");
  return {
      {Image("CenterCrop", "cuts out the middle; pads smaller images",
             {Size("side, or [height, width]"),
              {.name = "fill",
               .type = "float",
               .default_value = 0.0,
               .help = "value outside of the image"},
              LabelFillParameter()}),
       MakeCenterCrop},
      {Image(
           "ColorJitter",
           "changes brightness, contrast, saturation and hue in a drawn order",
           {RangeParameter("brightness", nullptr,
                           "factor from 1 - b to 1 + b, or [least, greatest]",
                           0),
            RangeParameter("contrast", nullptr, "as brightness", 0),
            RangeParameter("saturation", nullptr, "as brightness", 0),
            RangeParameter(
                "hue", nullptr,
                "turns of the circle from -h to h, or [least, greatest]", -0.5,
                0.5)}),
       MakeColorJitter},
      {Image("Cutout", "fills squares about drawn centers",
             {{.name = "size",
               .type = "int",
               .required = true,
               .min = 1,
               .aliases = {"length"},
               .help = "side of a square"},
              {.name = "holes",
               .type = "int",
               .default_value = 1,
               .min = 1,
               .aliases = {"n_holes"},
               .help = "number of squares"},
              {.name = "value",
               .type = "float",
               .default_value = 0.0,
               .help = "what they are filled with"},
              LabelFillParameter()}),
       MakeCutout},
      {Image("Grayscale", "luma in place of colours",
             {{.name = "num_output_channels",
               .type = "int",
               .default_value = 1,
               .numbers = {1, 3},
               .help = "1, or 3 equal ones"}}),
       MakeGrayscale<true>},
      {Image("RandomAffine", "turns, moves, scales and shears about the middle",
             {[&] {
                Parameter degrees = kDegrees;
                degrees.required = true;
                return degrees;
              }(),
              [] {
                Parameter translate = RangeParameter(
                    "translate", {0.0},
                    "most movement as a part of [width, height]", 0, 1);
                translate.order = Parameter::Order::kAny;
                return translate;
              }(),
              Positive(RangeParameter("scale", {1.0},
                                      "factor of size, or [least, greatest]")),
              [] {
                Parameter shear =
                    Floats("shear", {0.0},
                           "degrees along x from -s to s, [least, greatest], "
                           "or those of x and of y");
                shear.min_items = 1;
                shear.max_items = 4;
                return shear;
              }(),
              InterpolationOf("nearest", false), FillColour(),
              LabelFillParameter()}),
       MakeAffine},
      {Image("RandomErasing", "fills a rectangle",
             {Probability(0.5, "how often"),
              Positive(RangeParameter("scale", {0.02, 0.33}, "part of the area",
                                      0, 1)),
              Positive(RangeParameter("ratio", {0.3, 3.3}, "height by width")),
              Floats("value", {0.0}, "one for all, or one per channel"),
              {.name = "noise",
               .type = "bool",
               .default_value = false,
               .help = "normal noise in place of a value"},
              LabelFillParameter()}),
       MakeErasing},
      {Image("RandomGrayscale", "luma in all channels, at times",
             {Probability(0.1, "how often")}),
       MakeGrayscale<false>},
      {Image("RandomResizedCrop",
             "resizes a part of drawn size, shape and place",
             {Size("side of the result, or [height, width]"),
              Positive(RangeParameter("scale", {0.08, 1.0}, "part of the area",
                                      0, 1)),
              Positive(
                  RangeParameter("ratio", {0.75, 4.0 / 3}, "width by height")),
              InterpolationOf("bilinear", true)}),
       MakeResizedCrop},
      {Image("RandomRotate90", "turns by 0 to 3 quarters",
             {Probability(1.0, "how often a number of quarters is drawn")}),
       MakeRotate90},
      {Image("RandomRotation", "turns about the middle, counter-clockwise",
             {[&] {
                Parameter degrees = kDegrees;
                degrees.required = true;
                return degrees;
              }(),
              InterpolationOf("nearest", false), FillColour(),
              LabelFillParameter()}),
       MakeRotation},
      {Image("Resize",
             "resizes with antialiasing; bytes as Pillow does, floats as "
             "torchvision",
             {Size("the smaller side, or [height, width]"),
              InterpolationOf("bilinear", true)}),
       MakeResize},
      {Image("ToFloat", "bytes to floats in [0, 1]", {}), MakeToFloat},
  };
}

}  // namespace epochd::engine
