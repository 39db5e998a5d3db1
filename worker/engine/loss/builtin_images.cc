// SPDX-License-Identifier: Apache-2.0
//
// Losses of images.
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/loss/builtin.h"
#include "worker/engine/loss/declarations.h"
#include "worker/engine/loss/image_losses.h"
#include "worker/engine/loss/ssim_parameters.h"

namespace epochd::engine {
namespace {

using catalogue::Parameter;

Parameter Flag(const std::string& name, bool value, const std::string& help) {
  return {.name = name, .type = "bool", .default_value = value, .help = help};
}

Parameter Epsilon(double value) {
  return {.name = "epsilon",
          .type = "float",
          .default_value = value,
          .min = 0.0,
          .exclusive_min = true,
          .aliases = {"eps"},
          .help = "keeps magnitudes from 0, where they have no gradient"};
}

std::shared_ptr<Loss> MakeSsim(const Params& params) {
  auto options = WeighedOptions<SsimLoss::Options>(params);
  options.ssim = ReadSsim(params);
  return std::make_shared<SsimLoss>(std::move(options));
}

std::shared_ptr<Loss> MakeMsSsim(const Params& params) {
  auto options = WeighedOptions<SsimLoss::Options>(params);
  options.ssim = ReadSsim(params);
  options.ssim.betas = params.Floats("betas");
  options.multi_scale = true;
  return std::make_shared<SsimLoss>(std::move(options));
}

std::shared_ptr<Loss> MakeL1Ssim(const Params& params) {
  auto options = WeighedOptions<SsimLoss::Options>(params);
  options.ssim = ReadSsim(params);
  options.ssim.betas = params.Floats("betas");
  options.multi_scale = params.Bool("multi_scale");
  options.alpha = params.Float("alpha");
  return std::make_shared<SsimLoss>(std::move(options));
}

Entry<Loss> L1SsimEntry() {
  std::vector<Parameter> parameters = {
      {.name = "alpha",
       .type = "float",
       .default_value = 0.84,
       .min = 0.0,
       .max = 1.0,
       .help = "share of the similarity; the rest is L1's"},
      Flag("multi_scale", false, "MS-SSIM in place of SSIM")};
  for (Parameter& each : SsimParameters(/*multi_scale=*/true)) {
    parameters.push_back(std::move(each));
  }
  return {{.kind = "loss",
           .name = "L1SSIM",
           .aliases = {"L1SSIMLoss", "SSIML1Loss"},
           .help = "alpha (1 - SSIM) + (1 - alpha) L1",
           .parameters = ComparedAndWeighed(std::move(parameters), "l1_ssim")},
          &MakeL1Ssim};
}

Entry<Loss> TotalVariationEntry() {
  std::vector<Parameter> parameters = {
      Flag("isotropic", false,
           "sqrt(dx^2 + dy^2) in place of |dx| + |dy| (images only)"),
      Epsilon(1e-6)};
  for (Parameter& each : WeighingParameters()) {
    parameters.push_back(std::move(each));
  }
  parameters.push_back(
      FieldParameter("output", "output", "field with the prediction"));
  return {{.kind = "loss",
           .name = "TotalVariation",
           .aliases = {"TotalVariationLoss", "TVLoss", "tv"},
           .help = "mean difference of neighbours of the prediction, images "
                   "[B, C, H, W] or signals [B, C, N]",
           .parameters = WithCommon(std::move(parameters), "total_variation")},
          [](const Params& params) -> std::shared_ptr<Loss> {
            TotalVariationLoss::Options options;
            options.output = params.String("output");
            options.weighing = WeighingFrom(params);
            options.name = params.String("name");
            options.isotropic = params.Bool("isotropic");
            options.epsilon = params.Float("epsilon");
            return std::make_shared<TotalVariationLoss>(std::move(options));
          }};
}

Entry<Loss> GradientEntry() {
  return {{.kind = "loss",
           .name = "Gradient",
           .aliases = {"GradientLoss", "EdgeLoss", "gradient"},
           .help = "difference of derivatives, so that edges are alike",
           .parameters = ComparedAndWeighed(
               {{.name = "filter",
                 .type = "string",
                 .default_value = "sobel",
                 .choices = {"sobel", "difference"},
                 .help = "Sobel's 3 x 3 filter (images), or differences of "
                         "neighbours (signals too)"},
                Flag("magnitude", false,
                     "compare sqrt(dx^2 + dy^2) in place of dx and dy each"),
                Flag("squared", false,
                     "squared in place of absolute differences; with sobel and "
                     "magnitude this is SR-Forge's MGE"),
                Epsilon(1e-3)},
               "gradient")},
          [](const Params& params) -> std::shared_ptr<Loss> {
            auto options = WeighedOptions<GradientLoss::Options>(params);
            options.sobel = params.String("filter") == "sobel";
            options.magnitude = params.Bool("magnitude");
            options.squared = params.Bool("squared");
            options.epsilon = params.Float("epsilon");
            return std::make_shared<GradientLoss>(std::move(options));
          }};
}

}  // namespace

std::vector<Entry<Loss>> BuiltinImageLosses() {
  return {
      {{.kind = "loss",
        .name = "SSIM",
        .aliases = {"SSIMLoss", "ssim"},
        .help = "1 - structural similarity of images [B, C, H, W]",
        .parameters = ComparedAndWeighed(SsimParameters(false), "ssim")},
       &MakeSsim},
      {{.kind = "loss",
        .name = "MSSSIM",
        .aliases = {"MSSSIMLoss", "MultiScaleSSIM", "ms_ssim"},
        .help = "1 - structural similarity at several scales",
        .parameters = ComparedAndWeighed(SsimParameters(true), "ms_ssim")},
       &MakeMsSsim},
      L1SsimEntry(),
      TotalVariationEntry(),
      GradientEntry(),
  };
}

}  // namespace epochd::engine
