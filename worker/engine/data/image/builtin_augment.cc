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
          .help = help};
}

Parameter InterpolationOf(const std::string& by_default, bool with_bicubic) {
  Parameter parameter{.name = "interpolation",
                      .type = "string",
                      .default_value = by_default,
                      .choices = {"nearest", "bilinear"},
                      .help = "How values between pixels are made."};
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
  return {
      .name = "fill",
      .type = "list<float>",
      .default_value = {0.0},
      .scalar_ok = true,
      .help = "Value outside of the image, one for all or one per channel."};
}

Parameter Floats(const std::string& name, catalogue::Json by_default,
                 const std::string& help) {
  return {.name = name,
          .type = "list<float>",
          .default_value = std::move(by_default),
          .scalar_ok = true,
          .help = help};
}

std::pair<int64_t, int64_t> SizeOf(const Params& params) {
  const std::vector<int64_t> size = params.Ints("size");
  if (size.empty() || size.size() > 2) {
    params.Fail("size", "has " + std::to_string(size.size()) +
                            " values; 1 or 2 are needed");
  }
  return {size.front(), size.back()};
}

// [low, high], or a single value as `spread` makes of it.
template <class Spread>
Range RangeOf(const Params& params, const char* name, Spread spread) {
  const std::vector<double> values = params.Floats(name);
  if (values.size() == 1) return spread(values[0]);
  if (values.size() != 2 || values[0] > values[1]) {
    params.Fail(name,
                "is no range; one value, or [least, greatest], is "
                "needed");
  }
  return {values[0], values[1]};
}

Range Symmetric(double value) { return {-std::abs(value), std::abs(value)}; }

Range PositiveRangeOf(const Params& params, const char* name) {
  const Range range = RangeOf(params, name, [](double value) {
    return Range{value, value};
  });
  if (!(range.low > 0)) {
    params.Fail(name, "begins at " + std::to_string(range.low) +
                          "; it must be above 0");
  }
  return range;
}

Range PartOf(const Params& params, const char* name) {
  const Range range = PositiveRangeOf(params, name);
  if (range.high > 1) {
    params.Fail(name, "ends at " + std::to_string(range.high) +
                          "; at most 1, the whole image, is accepted");
  }
  return range;
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
  if (translate.empty() || translate.size() > 2 ||
      std::any_of(translate.begin(), translate.end(),
                  [](double part) { return part < 0 || part > 1; })) {
    params.Fail("translate",
                "1 or 2 parts of the width and height, from 0 to 1, are "
                "needed");
  }
  options.translate_x = translate.front();
  options.translate_y = translate.back();
  options.scale = PositiveRangeOf(params, "scale");
  if (shear.size() == 4) {
    options.shear_x = {shear[0], shear[1]};
    options.shear_y = {shear[2], shear[3]};
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
  options.area = PartOf(params, "scale");
  options.ratio = PositiveRangeOf(params, "ratio");
  options.interpolation = ParseInterpolation(params.String("interpolation"));
  return std::make_shared<RandomResizedCrop>(options, ImageFieldsOf(params));
}

std::shared_ptr<Transform> MakeColorJitter(const Params& params) {
  const auto factor = [&](const char* name) -> std::optional<Range> {
    if (!params.Has(name)) return std::nullopt;
    const Range range = RangeOf(params, name, [](double value) {
      return value < 0 ? Range{value, value}
                       : Range{std::max(0.0, 1 - value), 1 + value};
    });
    if (range.low < 0) params.Fail(name, "must not be below 0");
    return range;
  };
  ColorJitterOptions options{.brightness = factor("brightness"),
                             .contrast = factor("contrast"),
                             .saturation = factor("saturation"),
                             .hue = std::nullopt};
  if (params.Has("hue")) {
    options.hue = RangeOf(params, "hue", Symmetric);
    if (options.hue->low < -0.5 || options.hue->high > 0.5) {
      params.Fail("hue", "must be within -0.5 and 0.5");
    }
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
  options.area = PartOf(params, "scale");
  options.ratio = PositiveRangeOf(params, "ratio");
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
  const Parameter kDegrees =
      Floats("degrees", nullptr, "Angle from -d to d, or [least, greatest].");
  return {
      {Image("CenterCrop", "Cuts out the middle; pads smaller images.",
             {Size("Side, or [height, width]."),
              {.name = "fill",
               .type = "float",
               .default_value = 0.0,
               .help = "Value outside of the image."}}),
       MakeCenterCrop},
      {Image("ColorJitter",
             "Changes brightness, contrast, saturation and hue in a drawn "
             "order.",
             {Floats("brightness", nullptr,
                     "Factor from 1 - b to 1 + b, or [least, greatest]."),
              Floats("contrast", nullptr, "As brightness."),
              Floats("saturation", nullptr, "As brightness."),
              Floats("hue", nullptr,
                     "Turns of the circle from -h to h, or [least, "
                     "greatest].")}),
       MakeColorJitter},
      {Image("Cutout", "Fills squares about drawn centers.",
             {{.name = "size",
               .type = "int",
               .required = true,
               .min = 1,
               .aliases = {"length"},
               .help = "Side of a square."},
              {.name = "holes",
               .type = "int",
               .default_value = 1,
               .min = 1,
               .aliases = {"n_holes"},
               .help = "Number of squares."},
              {.name = "value",
               .type = "float",
               .default_value = 0.0,
               .help = "What they are filled with."}}),
       MakeCutout},
      {Image("Grayscale", "Luma in place of colours.",
             {{.name = "num_output_channels",
               .type = "int",
               .default_value = 1,
               .min = 1,
               .max = 3,
               .help = "1, or 3 equal ones."}}),
       MakeGrayscale<true>},
      {Image("RandomAffine",
             "Turns, moves, scales and shears about the middle.",
             {[&] {
                Parameter degrees = kDegrees;
                degrees.required = true;
                return degrees;
              }(),
              Floats("translate", {0.0},
                     "Most movement as a part of [width, height]."),
              Floats("scale", {1.0}, "Factor of size, or [least, greatest]."),
              Floats("shear", {0.0},
                     "Degrees along x from -s to s, [least, greatest], or "
                     "those of x and of y."),
              InterpolationOf("nearest", false), FillColour()}),
       MakeAffine},
      {Image("RandomErasing", "Fills a rectangle.",
             {Probability(0.5, "How often."),
              Floats("scale", {0.02, 0.33}, "Part of the area."),
              Floats("ratio", {0.3, 3.3}, "Height by width."),
              Floats("value", {0.0}, "One for all, or one per channel."),
              {.name = "noise",
               .type = "bool",
               .default_value = false,
               .help = "Normal noise in place of a value."}}),
       MakeErasing},
      {Image("RandomGrayscale", "Luma in all channels, at times.",
             {Probability(0.1, "How often.")}),
       MakeGrayscale<false>},
      {Image("RandomResizedCrop",
             "Resizes a part of drawn size, shape and place.",
             {Size("Side of the result, or [height, width]."),
              Floats("scale", {0.08, 1.0}, "Part of the area."),
              Floats("ratio", {0.75, 4.0 / 3}, "Width by height."),
              InterpolationOf("bilinear", true)}),
       MakeResizedCrop},
      {Image("RandomRotate90", "Turns by 0 to 3 quarters.",
             {Probability(1.0, "How often a number of quarters is drawn.")}),
       MakeRotate90},
      {Image("RandomRotation", "Turns about the middle, counter-clockwise.",
             {[&] {
                Parameter degrees = kDegrees;
                degrees.required = true;
                return degrees;
              }(),
              InterpolationOf("nearest", false), FillColour()}),
       MakeRotation},
      {Image("Resize",
             "Resizes with antialiasing; bytes as Pillow does, floats as "
             "torchvision.",
             {Size("The smaller side, or [height, width]."),
              InterpolationOf("bilinear", true)}),
       MakeResize},
      {Image("ToFloat", "Bytes to floats in [0, 1].", {}), MakeToFloat},
  };
}

}  // namespace epochd::engine
