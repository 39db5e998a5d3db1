// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/ssim_parameters.h"

#include <string>

namespace epochd::engine {

std::vector<catalogue::Parameter> SsimParameters(bool multi_scale) {
  std::vector<catalogue::Parameter> parameters = {
      {.name = "data_range",
       .type = "float",
       .default_value = 1.0,
       .min = 0,
       .exclusive_min = true,
       .aliases = {"max_value"},
       .help = "greatest minus smallest value a sample can hold"},
      {.name = "window",
       .type = "int",
       .default_value = 11,
       .min = 1,
       .max = 255,
       .odd = true,
       .aliases = {"window_size", "kernel_size", "win_size"},
       .help = "pixels of a window's side"},
      {.name = "sigma",
       .type = "float",
       .default_value = 1.5,
       .min = 0,
       .help = "of the Gaussian window; 0: a uniform one"},
      {.name = "padding",
       .type = "string",
       .default_value = "none",
       .choices = {"none", "reflect", "zero"},
       .help = "windows inside the image only (MATLAB, scikit-image, BasicSR), "
               "or over its edges, reflected (torchmetrics) or filled with 0 "
               "(SR-Forge)"},
      {.name = "k1",
       .type = "float",
       .default_value = 0.01,
       .min = 0,
       .exclusive_min = true,
       .help = "keeps the ratio of means from 0 / 0"},
      {.name = "k2",
       .type = "float",
       .default_value = 0.03,
       .min = 0,
       .exclusive_min = true,
       .help = "keeps the ratio of variances from 0 / 0"}};
  if (multi_scale) {
    parameters.push_back(
        {.name = "betas",
         .type = "list<float>",
         .default_value = {0.0448, 0.2856, 0.3001, 0.2363, 0.1333},
         .min = 0,
         .exclusive_min = true,
         .min_items = 1,
         .max_items = 16,
         .help = "powers of the scales, from the finest; as many as scales"});
  }
  return parameters;
}

SsimOptions ReadSsim(const Params& params) {
  SsimOptions options;
  options.window = params.Int("window");
  options.sigma = params.Float("sigma");
  options.padding = SsimPaddingOf(params.String("padding"));
  options.data_range = params.Float("data_range");
  options.k1 = params.Float("k1");
  options.k2 = params.Float("k2");
  return options;
}

}  // namespace epochd::engine
