// SPDX-License-Identifier: Apache-2.0
//
// What declarations of losses share: parameters, and how they are read. Used
// while the registry is built and while losses are.
#pragma once

#include <string>
#include <vector>

#include "worker/engine/loss/fields.h"
#include "worker/engine/loss/scores.h"
#include "worker/engine/loss/weighing.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

catalogue::Parameter FieldParameter(const std::string& name,
                                    const std::string& value,
                                    const std::string& help);
// `mask` and `sample_weight`.
std::vector<catalogue::Parameter> WeighingParameters();
catalogue::Parameter ReductionParameter();
// One number per class; a single one stands for all if `scalar_ok`.
catalogue::Parameter ClassNumbers(const std::string& name, bool scalar_ok,
                                  const std::string& help);
catalogue::Parameter NumberParameter(const std::string& name, double value,
                                     const std::string& help);

// Behind a loss's own parameters: what every loss takes (its weight and name),
// what those of two fields take, and those of a discriminator's scores, which
// are weighed.
std::vector<catalogue::Parameter> WithCommon(
    std::vector<catalogue::Parameter> parameters, const std::string& name);
std::vector<catalogue::Parameter> Compared(
    std::vector<catalogue::Parameter> parameters, const std::string& name);
std::vector<catalogue::Parameter> ComparedAndWeighed(
    std::vector<catalogue::Parameter> parameters, const std::string& name);
std::vector<catalogue::Parameter> Scored(
    std::vector<catalogue::Parameter> parameters, const std::string& name);

ComparedFields ComparedFrom(const Params& params);
ScoreFields ScoresFrom(const Params& params);
Weighing WeighingFrom(const Params& params);

// Fills what `Options` of losses of two fields and weights have in common.
template <class Options>
Options WeighedOptions(const Params& params) {
  Options options;
  options.fields = ComparedFrom(params);
  options.weighing = WeighingFrom(params);
  options.name = params.String("name");
  return options;
}

}  // namespace epochd::engine
