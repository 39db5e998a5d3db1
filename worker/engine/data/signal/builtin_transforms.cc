// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/data/signal/augment.h"
#include "worker/engine/data/signal/builtin.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;

const Parameter kSignal{.name = "field",
                        .type = "string",
                        .default_value = "input",
                        .help = "signal [leads, samples] to change"};
const Parameter kRate{.name = "fs",
                      .type = "float",
                      .required = true,
                      .min = 0,
                      .exclusive_min = true,
                      .help = "samples a second of the signal"};

const Parameter kAlso{.name = "also",
                      .type = "list<string>",
                      .scalar_ok = true,
                      .help = "fields [..., samples] that move with it, such as "
                              "a class or a mask per sample"};

Parameter Chance(double value, const char* help) {
  return {.name = "p",
          .type = "float",
          .default_value = value,
          .min = 0,
          .max = 1,
          .aliases = {"prob"},
          .help = help};
}

// One chance, or two: of the sample, and within it.
Parameter TwoChances(std::vector<double> values, const char* help) {
  return {.name = "p",
          .type = "list<float>",
          .default_value = values,
          .min = 0,
          .max = 1,
          .aliases = {"prob"},
          .scalar_ok = true,
          .min_items = 1,
          .max_items = 2,
          .help = help};
}

std::pair<double, double> Pair(const Params& params, const char* name) {
  const std::vector<double> values = params.Floats(name);
  return {values.front(), values.back()};
}

Component Named(const char* name, std::vector<std::string> aliases,
                const char* help, std::vector<Parameter> parameters) {
  return {.kind = "transform",
          .name = name,
          .aliases = std::move(aliases),
          .help = help,
          .parameters = std::move(parameters)};
}

Component WanderComponent() {
  return Named(
      "BaselineWander", {"BaselineWanderAugmenter", "baseline_wander"},
      "adds slow sines and noise to each lead, in terms of its amplitude",
      {kRate,
       {.name = "frequencies",
        .type = "list<float>",
        .default_value = {0.33, 0.1, 0.05, 0.01},
        .aliases = {"bw_fs"},
        .help = "of the sines, in Hz"},
       {.name = "amplitudes",
        .type = "list<list<float>>",
        .default_value = Json::array({{0.01, 0.01, 0.02, 0.03},
                                      {0.01, 0.02, 0.04, 0.05},
                                      {0.1, 0.06, 0.04, 0.02},
                                      {0.02, 0.04, 0.07, 0.1},
                                      {0.05, 0.1, 0.16, 0.25},
                                      {0.1, 0.15, 0.25, 0.3},
                                      {0.25, 0.25, 0.3, 0.35}}),
        .aliases = {"ampl_ratio"},
        .help = "rows of which one is drawn for each lead: a share of the "
                "lead's amplitude per frequency"},
       {.name = "noise",
        .type = "list<float>",
        .default_value = {0.001, 0.003, 0.01},
        .min = 0,
        .help = "of which one is drawn: the noise's deviation, as a share"},
       Chance(0.5, "how often a lead gets sines, and how often noise"),
       kSignal});
}

std::shared_ptr<Transform> MakeWander(const Params& params) {
  BaselineWanderOptions options{.fs = params.Float("fs"),
                                .frequencies = params.Floats("frequencies"),
                                .noise = params.Floats("noise"),
                                .probability = params.Float("p"),
                                .field = params.String("field")};
  for (const Json& row : params.Raw("amplitudes")) {
    options.amplitudes.push_back(row.get<std::vector<double>>());
  }
  return std::make_shared<BaselineWander>(std::move(options));
}

Component MaskComponent() {
  return Named("SignalMask", {"RandomMasking", "random_masking"},
               "replaces short stretches of all leads by a value",
               {kRate,
                {.name = "value",
                 .type = "float",
                 .default_value = 0.0,
                 .aliases = {"mask_value"},
                 .help = "what stands there"},
                {.name = "width",
                 .type = "list<float>",
                 .default_value = {0.08, 0.18},
                 .min = 0,
                 .aliases = {"mask_width"},
                 .scalar_ok = true,
                 .min_items = 1,
                 .max_items = 2,
                 .order = Parameter::Order::kNotFalling,
                 .help = "least and most seconds of a stretch"},
                TwoChances({0.3, 0.15},
                           "of a sample; and about what share of it is masked"),
                kSignal});
}

std::shared_ptr<Transform> MakeMask(const Params& params) {
  const auto [probability, density] = Pair(params, "p");
  const auto [least, most] = Pair(params, "width");
  return std::make_shared<SignalMask>(
      SignalMaskOptions{.fs = params.Float("fs"),
                        .value = params.Float("value"),
                        .min_width = least,
                        .max_width = most,
                        .probability = probability,
                        .density = density,
                        .field = params.String("field")});
}

std::shared_ptr<Transform> MakeStretch(const Params& params) {
  // Above 1 it is in percent.
  const double ratio = params.Float("ratio");
  return std::make_shared<StretchCompress>(
      ratio > 1 ? ratio / 100 : ratio, params.Float("p"),
      params.String("field"), params.Strings("also"));
}

std::shared_ptr<Transform> MakeFlip(const Params& params) {
  const auto [probability, lead] = Pair(params, "p");
  return std::make_shared<SignalFlip>(
      probability, lead, params.Bool("per_lead"), params.String("field"));
}

std::shared_ptr<Transform> MakeNoise(const Params& params) {
  return std::make_shared<SignalNoise>(
      params.Float("std"), params.Bool("relative"), params.Float("p"),
      params.String("field"));
}

std::shared_ptr<Transform> MakeLeadDropout(const Params& params) {
  return std::make_shared<LeadDropout>(params.Float("p"),
                                       params.String("field"));
}

std::shared_ptr<Transform> MakeLabelSmooth(const Params& params) {
  return std::make_shared<LabelSmooth>(
      params.Float("smoothing"), params.OptionalInt("classes").value_or(0),
      params.Float("p"), params.String("field"));
}

std::shared_ptr<Transform> MakeNormalize(const Params& params) {
  const std::string method = params.String("method");
  const Scaling scaling = method == "min-max" ? Scaling::kMinMax
                          : method == "naive" ? Scaling::kNaive
                                              : Scaling::kZScore;
  return std::make_shared<SignalNormalize>(
      scaling, params.Float("mean"), params.Float("std"),
      params.Bool("per_lead"), params.String("field"));
}

std::shared_ptr<Transform> MakeRenormalize(const Params& params) {
  const auto [min_mean, max_mean] = Pair(params, "mean");
  const auto [min_std, max_std] = Pair(params, "std");
  return std::make_shared<Renormalize>(
      RenormalizeOptions{.min_mean = min_mean,
                         .max_mean = max_mean,
                         .min_std = min_std,
                         .max_std = max_std,
                         .per_lead = params.Bool("per_lead"),
                         .probability = params.Float("p"),
                         .field = params.String("field")});
}

std::shared_ptr<Transform> MakeResample(const Params& params) {
  return std::make_shared<SignalResample>(
      params.Float("fs"), params.Float("to"),
      params.String("edge") == "repeat" ? ResampleEdge::kRepeat
                                        : ResampleEdge::kZero,
      params.String("field"), params.Strings("also"));
}

std::shared_ptr<Transform> MakeBandPass(const Params& params) {
  return std::make_shared<BandPass>(static_cast<int>(params.Int("order")),
                                    params.Float("low"), params.Float("high"),
                                    params.Float("fs"), params.String("field"));
}

}  // namespace

std::vector<Entry<Transform>> BuiltinSignalTransforms() {
  const Parameter per_lead{.name = "per_lead",
                           .type = "bool",
                           .default_value = false,
                           .aliases = {"per_channel"},
                           .help = "each lead by itself"};
  Parameter flips_per_lead = per_lead;
  flips_per_lead.default_value = true;
  return {
      {WanderComponent(), MakeWander},
      {Named("SignalNoise", {"gaussian_noise"}, "adds Gaussian noise",
             {{.name = "std",
               .type = "float",
               .default_value = 0.05,
               .min = 0,
               .help = "its deviation"},
              {.name = "relative",
               .type = "bool",
               .default_value = true,
               .help = "in units of each lead's deviation"},
              Chance(0.5, "how often a sample gets noise"),
              kSignal}),
       MakeNoise},
      {Named("SignalFlip", {"random_flip"}, "changes the sign of leads",
             {TwoChances({0.4, 0.2}, "of a sample; and of a lead in it"),
              flips_per_lead, kSignal}),
       MakeFlip},
      {MaskComponent(), MakeMask},
      {Named("StretchCompress", {"stretch_compress"},
             "stretches or compresses in time; the size stays",
             {{.name = "ratio",
               .type = "float",
               .default_value = 6.0,
               .min = 0,
               .max = 50,
               .help = "how much on average; above 1 in percent"},
              Chance(0.5, "how often"),
              kSignal, kAlso}),
       MakeStretch},
      {Named("LeadDropout", {"lead_dropout"},
             "sets leads to 0, but never all of them",
             {Chance(0.1, "how often a lead is dropped"), kSignal}),
       MakeLeadDropout},
      {Named("LabelSmooth", {"label_smooth"},
             "moves labels towards equal shares of all classes",
             {{.name = "smoothing",
               .type = "float",
               .default_value = 0.1,
               .min = 0,
               .max = 1,
               .help = "share that goes to all classes alike"},
              {.name = "classes",
               .type = "int",
               .min = 1,
               .help = "turns class numbers into shares of so many classes"},
              Chance(0.5, "how often"),
              {.name = "field",
               .type = "string",
               .default_value = "target",
               .help = "label to smooth"}}),
       MakeLabelSmooth},
      {Named("SignalNormalize", {"ZScoreNormalize"},
             "brings a signal to a common scale by its own statistics",
             {{.name = "method",
               .type = "string",
               .default_value = "z-score",
               .choices = {"z-score", "min-max", "naive"},
               .help = "z-score: to this mean and std; min-max: to 0..1; "
                       "naive: (x - mean) / std"},
              {.name = "mean",
               .type = "float",
               .default_value = 0.0,
               .help = "see method"},
              {.name = "std",
               .type = "float",
               .default_value = 1.0,
               .min = 0,
               .exclusive_min = true,
               .help = "see method"},
              per_lead,
              kSignal}),
       MakeNormalize},
      {Named("Renormalize", {"RandomRenormalize", "random_renormalize"},
             "z-score to a mean and a deviation that are drawn",
             {{.name = "mean",
               .type = "list<float>",
               .default_value = {-0.05, 0.1},
               .scalar_ok = true,
               .min_items = 1,
               .max_items = 2,
               .order = Parameter::Order::kNotFalling,
               .help = "least and most; most draws are well within"},
              {.name = "std",
               .type = "list<float>",
               .default_value = {0.08, 0.32},
               .scalar_ok = true,
               .min_items = 1,
               .max_items = 2,
               .order = Parameter::Order::kNotFalling,
               .help = "the same of the deviation"},
              per_lead,
              Chance(0.5, "how often"),
              kSignal}),
       MakeRenormalize},
      {Named("SignalResample", {"Resample"}, "resamples by a polyphase filter",
             {kRate,
              {.name = "to",
               .type = "float",
               .required = true,
               .min = 0,
               .exclusive_min = true,
               .help = "samples a second wanted"},
              {.name = "edge",
               .type = "string",
               .default_value = "zero",
               .choices = {"zero", "repeat"},
               .help = "what stands beyond the ends"},
              kSignal, kAlso}),
       MakeResample},
      {Named("BandPass", {"bandpass"},
             "Butterworth filter, forward and backward",
             {kRate,
              {.name = "low",
               .type = "float",
               .default_value = 0.5,
               .min = 0,
               .aliases = {"lowcut"},
               .help = "Hz; 0: none"},
              {.name = "high",
               .type = "float",
               .default_value = 45.0,
               .min = 0,
               .aliases = {"highcut"},
               .help = "Hz; 0: none"},
              {.name = "order",
               .type = "int",
               .default_value = 4,
               .min = 1,
               .max = 20,
               .aliases = {"filter_order"},
               .help = "of the filter, which acts twice"},
              kSignal}),
       MakeBandPass}};
}

}  // namespace epochd::engine
