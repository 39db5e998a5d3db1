// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/builtin.h"

#include <memory>
#include <string>
#include <utility>

#include "worker/engine/loss/declarations.h"
#include "worker/engine/loss/ssim_parameters.h"
#include "worker/engine/metric/declarations.h"
#include "worker/engine/metric/psnr.h"
#include "worker/engine/metric/regression.h"
#include "worker/engine/metric/similarity.h"

namespace epochd::engine {
namespace {

using catalogue::Parameter;

Parameter DataRange() {
  return {.name = "data_range",
          .type = "float",
          .default_value = 1.0,
          .min = 0,
          .exclusive_min = true,
          .aliases = {"max_value"},
          .help = "greatest minus smallest value a sample can hold"};
}

std::vector<Parameter> ImageParameters(std::vector<Parameter> parameters,
                                       const std::string& name) {
  parameters.push_back({.name = "crop_border",
                        .type = "int",
                        .default_value = 0,
                        .min = 0,
                        .help = "pixels left out at each edge"});
  parameters.push_back({.name = "y_channel",
                        .type = "bool",
                        .default_value = false,
                        .aliases = {"test_y_channel"},
                        .help = "of the luma of RGB (ITU-R BT.601, as "
                                "MATLAB's rgb2ycbcr), as papers on "
                                "super-resolution report"});
  return MetricParameters(std::move(parameters), name);
}

void FillImageOptions(const Params& params, ImagePairOptions& options) {
  options.fields = MetricFields(params);
  options.weighing = WeighingFrom(params);
  options.crop_border = params.Int("crop_border");
  options.luma = params.Bool("y_channel");
  options.data_range = params.Float("data_range");
}

std::shared_ptr<Metric> MakePsnr(const Params& params) {
  Psnr::Options options;
  FillImageOptions(params, options);
  options.name = params.String("name");
  return std::make_shared<Psnr>(std::move(options));
}

template <bool multi_scale>
std::shared_ptr<Metric> MakeSimilarity(const Params& params) {
  Similarity::Options options;
  FillImageOptions(params, options);
  options.name = params.String("name");
  options.ssim = ReadSsim(params);
  options.multi_scale = multi_scale;
  if (multi_scale) options.ssim.betas = params.Floats("betas");
  return std::make_shared<Similarity>(std::move(options));
}

template <ErrorMetric::Kind kind>
std::shared_ptr<Metric> MakeError(const Params& params) {
  ErrorMetric::Options options;
  options.kind = kind;
  options.fields = MetricFields(params);
  options.weighing = WeighingFrom(params);
  options.name = params.String("name");
  if (kind == ErrorMetric::Kind::kRelativeL2) {
    options.per_sample = params.Bool("per_sample");
  }
  return std::make_shared<ErrorMetric>(std::move(options));
}

template <ErrorMetric::Kind kind>
Entry<Metric> ErrorEntry(const std::string& type,
                         std::vector<std::string> aliases,
                         const std::string& name, const std::string& help,
                         std::vector<Parameter> parameters = {}) {
  return {{.kind = "metric",
           .name = type,
           .aliases = std::move(aliases),
           .help = help,
           .parameters = MetricParameters(std::move(parameters), name)},
          &MakeError<kind>};
}

}  // namespace

std::vector<Entry<Metric>> BuiltinMetrics() {
  using Kind = ErrorMetric::Kind;
  std::vector<Entry<Metric>> entries = BuiltinLabelMetrics();
  entries.push_back(
      {{.kind = "metric",
        .name = "PSNR",
        .aliases = {"PeakSignalNoiseRatio", "psnr"},
        .help = "peak signal-to-noise ratio in decibels, mean over samples",
        .parameters = ImageParameters({DataRange()}, "psnr")},
       &MakePsnr});
  entries.push_back(
      {{.kind = "metric",
        .name = "SSIM",
        .aliases = {"StructuralSimilarityIndexMeasure", "ssim"},
        .help = "structural similarity of images [B, C, H, W], mean over them",
        .parameters = ImageParameters(SsimParameters(false), "ssim")},
       &MakeSimilarity<false>});
  entries.push_back(
      {{.kind = "metric",
        .name = "MSSSIM",
        .aliases = {"MultiScaleStructuralSimilarityIndexMeasure", "ms_ssim"},
        .help = "structural similarity at several scales",
        .parameters = ImageParameters(SsimParameters(true), "ms_ssim")},
       &MakeSimilarity<true>});
  entries.push_back(ErrorEntry<Kind::kMae>("MAE", {"MeanAbsoluteError", "mae"},
                                           "mae", "mean absolute error"));
  entries.push_back(ErrorEntry<Kind::kMse>("MSE", {"MeanSquaredError", "mse"},
                                           "mse", "mean squared error"));
  entries.push_back(ErrorEntry<Kind::kRmse>(
      "RMSE", {"RootMeanSquaredError", "rmse"}, "rmse",
      "root of the mean squared error of all elements"));
  entries.push_back(ErrorEntry<Kind::kRelativeL2>(
      "RelativeL2", {"RelativeL2Error", "relative_l2", "LpLoss"}, "relative_l2",
      "size of the error over the size of the truth, sqrt(sum d^2 / sum t^2)",
      {{.name = "per_sample",
        .type = "bool",
        .default_value = false,
        .help = "the mean over samples of each one's"}}));
  return entries;
}

}  // namespace epochd::engine
