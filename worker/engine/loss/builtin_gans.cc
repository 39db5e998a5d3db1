// SPDX-License-Identifier: Apache-2.0
//
// Losses of GANs, in pairs.
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/loss/adversarial.h"
#include "worker/engine/loss/builtin.h"
#include "worker/engine/loss/declarations.h"
#include "worker/engine/loss/ragan.h"

namespace epochd::engine {
namespace {

using catalogue::Parameter;

template <class T>
std::shared_ptr<Loss> MakeScored(const Params& params) {
  return std::make_shared<T>(typename T::Options{
      ScoresFrom(params), WeighingFrom(params), params.String("name")});
}

bool HasLabels(GanRule rule) {
  return rule == GanRule::kVanilla || rule == GanRule::kLsgan;
}

std::vector<Parameter> Labels(GanRule rule) {
  if (!HasLabels(rule)) return {};
  return {NumberParameter("real_label", 1.0,
                          "label of real samples; 0.9 smooths it"),
          NumberParameter("fake_label", 0.0, "label of fake samples")};
}

GanLossOptions OptionsFrom(const Params& params, GanRule rule) {
  GanLossOptions options;
  options.rule = rule;
  options.fields = ScoresFrom(params);
  options.weighing = WeighingFrom(params);
  options.name = params.String("name");
  if (HasLabels(rule)) {
    options.real_label = params.Float("real_label");
    options.fake_label = params.Float("fake_label");
  }
  return options;
}

template <GanRule rule, class T>
std::shared_ptr<Loss> MakeGanLoss(const Params& params) {
  return std::make_shared<T>(OptionsFrom(params, rule));
}

template <GanRule rule>
void AddPair(const std::string& prefix, const std::string& alias,
             const std::string& name, const std::string& what,
             std::vector<Entry<Loss>>& entries) {
  entries.push_back({{.kind = "loss",
                      .name = prefix + "DiscriminatorLoss",
                      .aliases = {alias + "DiscriminatorLoss"},
                      .help = "discriminator's loss of " + what,
                      .parameters = Scored(Labels(rule), name + "_d"),
                      .role = "discriminator"},
                     &MakeGanLoss<rule, GanDiscriminatorLoss>});
  entries.push_back({{.kind = "loss",
                      .name = prefix + "GeneratorLoss",
                      .aliases = {alias + "GeneratorLoss"},
                      .help = "generator's loss of " + what,
                      .parameters = Scored(Labels(rule), name + "_g"),
                      .role = "generator"},
                     &MakeGanLoss<rule, GanGeneratorLoss>});
}

}  // namespace

std::vector<Entry<Loss>> BuiltinGanLosses() {
  std::vector<Entry<Loss>> entries = {
      {{.kind = "loss",
        .name = "RaGanDiscriminatorLoss",
        .aliases = {"RaGANDiscriminatorLoss", "RaGanDLoss"},
        .help = "discriminator's loss of a relativistic average GAN",
        .parameters = Scored({}, "ragan_d"),
        .role = "discriminator"},
       &MakeScored<RaGanDiscriminatorLoss>},
      {{.kind = "loss",
        .name = "RaGanGeneratorLoss",
        .aliases = {"RaGANGeneratorLoss", "RaGanGLoss"},
        .help = "generator's adversarial loss of a relativistic average GAN",
        .parameters = Scored({}, "ragan_g"),
        .role = "generator"},
       &MakeScored<RaGanGeneratorLoss>}};
  AddPair<GanRule::kVanilla>("Gan", "GAN", "gan",
                             "a GAN with binary cross entropy", entries);
  AddPair<GanRule::kLsgan>("LsGan", "LSGAN", "lsgan", "a least squares GAN",
                           entries);
  AddPair<GanRule::kHinge>("HingeGan", "Hinge", "hinge",
                           "a GAN with the hinge loss", entries);
  AddPair<GanRule::kWgan>(
      "WGan", "WGAN", "wgan",
      "a Wasserstein GAN; it wants a penalty on gradients beside it", entries);
  return entries;
}

}  // namespace epochd::engine
