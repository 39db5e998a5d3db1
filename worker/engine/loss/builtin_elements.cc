// SPDX-License-Identifier: Apache-2.0
//
// Losses of labels, and of differences of elements.
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/loss/binary.h"
#include "worker/engine/loss/builtin.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/loss/declarations.h"
#include "worker/engine/loss/pointwise.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;

template <class Options>
Options ElementOptions(const Params& params) {
  Options options = WeighedOptions<Options>(params);
  options.reduction = ReductionOf(params.String("reduction"));
  return options;
}

// Behind a loss's own parameters.
std::vector<Parameter> OfElements(std::vector<Parameter> parameters,
                                  const std::string& name) {
  parameters.push_back(ReductionParameter());
  return ComparedAndWeighed(std::move(parameters), name);
}

Parameter Gamma(const std::string& name, double value,
                const std::string& help) {
  return {.name = name,
          .type = "float",
          .default_value = value,
          .min = 0.0,
          .help = help};
}

Parameter AboveZero(const std::string& name, double value,
                    const std::string& help) {
  return {.name = name,
          .type = "float",
          .default_value = value,
          .min = 0.0,
          .exclusive_min = true,
          .help = help};
}

Parameter ClassWeights() {
  Parameter weights = ClassNumbers("class_weights", false,
                                   "one weight per class; all 1 when empty");
  weights.aliases = {"class_weight"};
  return weights;
}

Parameter IgnoreIndex() {
  return {.name = "ignore_index",
          .type = "int",
          .default_value = -100,
          .help = "samples of this class do not count"};
}

// Of losses of yes-or-no targets.
Parameter LabelWeights() {
  Parameter weights =
      ClassNumbers("class_weights", false,
                   "weight of each class, the second dimension; they do not "
                   "change what the mean divides by");
  weights.aliases = {"class_weight"};
  return weights;
}

Parameter PosWeight() {
  return ClassNumbers("pos_weight", true,
                      "weight of positive targets, one or one per class");
}

template <class T>
std::shared_ptr<Loss> MakePlain(const Params& params) {
  return std::make_shared<T>(ElementOptions<typename T::Options>(params));
}

template <class T>
std::shared_ptr<Loss> MakeOfClasses(const Params& params,
                                    typename T::Options options) {
  options.class_weights = params.Floats("class_weights");
  options.ignore_index = params.Int("ignore_index");
  return std::make_shared<T>(options);
}

Entry<Loss> CrossEntropyEntry() {
  Component component{
      .kind = "loss",
      .name = "CrossEntropy",
      .aliases = {"CrossEntropyLoss", "cross_entropy"},
      .help =
          "cross entropy of class scores (logits) [B, C, ...] and classes "
          "[B, ...] or class probabilities [B, C, ...]",
      .parameters = OfElements(
          {{.name = "label_smoothing",
            .type = "float",
            .default_value = 0.0,
            .min = 0.0,
            .max = 1.0,
            .help = "share of the target spread evenly over the classes"},
           ClassWeights(),
           IgnoreIndex()},
          "cross_entropy")};
  return {std::move(component),
          [](const Params& params) -> std::shared_ptr<Loss> {
            auto options = ElementOptions<CrossEntropyLoss::Options>(params);
            options.label_smoothing = params.Float("label_smoothing");
            return MakeOfClasses<CrossEntropyLoss>(params, options);
          }};
}

Entry<Loss> ClassFocalEntry() {
  Component component{
      .kind = "loss",
      .name = "ClassFocal",
      .aliases = {"ClassFocalLoss", "SoftmaxFocalLoss"},
      .help =
          "focal loss of class scores (logits) [B, C, ...] and classes "
          "[B, ...] or class probabilities",
      .parameters = OfElements(
          {Gamma("gamma", 2.0, "how much samples that are right count less"),
           ClassWeights(), IgnoreIndex()},
          "class_focal")};
  return {std::move(component),
          [](const Params& params) -> std::shared_ptr<Loss> {
            auto options = ElementOptions<ClassFocalLoss::Options>(params);
            options.gamma = params.Float("gamma");
            return MakeOfClasses<ClassFocalLoss>(params, options);
          }};
}

template <class T>
std::shared_ptr<Loss> MakeBce(const Params& params) {
  auto options = ElementOptions<typename T::Options>(params);
  options.pos_weight = params.Floats("pos_weight");
  options.class_weights = params.Floats("class_weights");
  return std::make_shared<T>(options);
}

Entry<Loss> FocalEntry() {
  Component component{
      .kind = "loss",
      .name = "Focal",
      .aliases = {"FocalLoss", "SigmoidFocalLoss", "sigmoid_focal_loss",
                  "focal"},
      .help = "focal loss of logits and yes-or-no targets in [0, 1]",
      .parameters = OfElements(
          {Gamma("gamma", 2.0, "how much elements that are right count less"),
           {.name = "alpha",
            .type = "float",
            .min = 0.0,
            .max = 1.0,
            .help = "weight of positive targets, 1 - alpha of negative ones; "
                    "none by default (torchvision: 0.25)"},
           LabelWeights()},
          "focal")};
  return {std::move(component),
          [](const Params& params) -> std::shared_ptr<Loss> {
            auto options = ElementOptions<FocalLoss::Options>(params);
            options.gamma = params.Float("gamma");
            options.alpha = params.OptionalFloat("alpha");
            options.class_weights = params.Floats("class_weights");
            return std::make_shared<FocalLoss>(options);
          }};
}

Entry<Loss> AsymmetricEntry() {
  Component component{
      .kind = "loss",
      .name = "Asymmetric",
      .aliases = {"AsymmetricLoss", "ASL", "asymmetric"},
      .help = "asymmetric loss of logits and yes-or-no targets in [0, 1]",
      .parameters = OfElements(
          {Gamma("gamma_neg", 4.0, "focus of negative targets"),
           Gamma("gamma_pos", 1.0, "focus of positive targets"),
           {.name = "margin",
            .type = "float",
            .default_value = 0.05,
            .min = 0.0,
            .max = 1.0,
            .aliases = {"prob_margin", "clip"},
            .help = "probability below which negative targets cost nothing"},
           {.name = "detach_focus",
            .type = "bool",
            .default_value = false,
            .aliases = {"disable_torch_grad_focal_loss"},
            .help = "no gradient through the focus factors"}},
          "asymmetric")};
  return {std::move(component),
          [](const Params& params) -> std::shared_ptr<Loss> {
            auto options = ElementOptions<AsymmetricLoss::Options>(params);
            options.gamma_neg = params.Float("gamma_neg");
            options.gamma_pos = params.Float("gamma_pos");
            options.margin = params.Float("margin");
            options.detach_focus = params.Bool("detach_focus");
            return std::make_shared<AsymmetricLoss>(options);
          }};
}

Entry<Loss> CharbonnierEntry() {
  Parameter epsilon =
      AboveZero("epsilon", 1e-3, "below about this, squares; above, absolute");
  epsilon.aliases = {"eps"};
  return {{.kind = "loss",
           .name = "Charbonnier",
           .aliases = {"CharbonnierLoss", "charbonnier"},
           .help = "sqrt(d^2 + epsilon^2) of differences d",
           .parameters = OfElements({std::move(epsilon)}, "charbonnier")},
          [](const Params& params) -> std::shared_ptr<Loss> {
            auto options = ElementOptions<CharbonnierLoss::Options>(params);
            options.epsilon = params.Float("epsilon");
            return std::make_shared<CharbonnierLoss>(options);
          }};
}

Entry<Loss> HuberEntry() {
  return {{.kind = "loss",
           .name = "Huber",
           .aliases = {"HuberLoss", "huber"},
           .help = "squared below delta, absolute above",
           .parameters = OfElements(
               {AboveZero("delta", 1.0, "difference at which it changes")},
               "huber")},
          [](const Params& params) -> std::shared_ptr<Loss> {
            auto options = ElementOptions<HuberLoss::Options>(params);
            options.delta = params.Float("delta");
            return std::make_shared<HuberLoss>(options);
          }};
}

Entry<Loss> SmoothL1Entry() {
  return {{.kind = "loss",
           .name = "SmoothL1",
           .aliases = {"SmoothL1Loss", "smooth_l1"},
           .help = "Huber loss divided by beta",
           .parameters = OfElements(
               {Gamma("beta", 1.0, "difference at which it changes; 0: L1")},
               "smooth_l1")},
          [](const Params& params) -> std::shared_ptr<Loss> {
            auto options = ElementOptions<SmoothL1Loss::Options>(params);
            options.beta = params.Float("beta");
            return std::make_shared<SmoothL1Loss>(options);
          }};
}

}  // namespace

std::vector<Entry<Loss>> BuiltinElementLosses() {
  return {
      CrossEntropyEntry(),
      ClassFocalEntry(),
      {{.kind = "loss",
        .name = "BCEWithLogits",
        .aliases = {"BCEWithLogitsLoss", "bce_with_logits",
                    "BCEWithLogitsWithClassWeightLoss",
                    "MaskedBCEWithLogitsLoss"},
        .help = "binary cross entropy of logits and targets in [0, 1]",
        .parameters =
            OfElements({PosWeight(), LabelWeights()}, "bce_with_logits")},
       &MakeBce<BceWithLogitsLoss>},
      {{.kind = "loss",
        .name = "BCE",
        .aliases = {"BCELoss", "WeightedBCELoss", "bce"},
        .help = "binary cross entropy of probabilities and targets in [0, 1]",
        .parameters = OfElements({PosWeight(), LabelWeights()}, "bce")},
       &MakeBce<BceLoss>},
      FocalEntry(),
      AsymmetricEntry(),
      {{.kind = "loss",
        .name = "MSE",
        .aliases = {"MSELoss", "mse"},
        .help = "mean squared error",
        .parameters = OfElements({}, "mse")},
       &MakePlain<MseLoss>},
      {{.kind = "loss",
        .name = "L1",
        .aliases = {"L1Loss", "MAE", "l1"},
        .help = "mean absolute error",
        .parameters = OfElements({}, "l1")},
       &MakePlain<L1Loss>},
      CharbonnierEntry(),
      HuberEntry(),
      SmoothL1Entry(),
  };
}

}  // namespace epochd::engine
