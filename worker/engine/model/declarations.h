// SPDX-License-Identifier: Apache-2.0
//
// Declarations that models share. Plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/model/module_model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

catalogue::Parameter TextParameter(const std::string& name,
                                   const std::string& value,
                                   const std::string& help);
// A whole number from 1.
catalogue::Parameter CountParameter(const std::string& name, int64_t value,
                                    const std::string& help);
// `channels` or `in_channels`, each an alias of the other; 3 by default.
catalogue::Parameter ChannelsParameter(const std::string& name);
// The same under a name of the Python original's.
catalogue::Parameter CountWithAliases(const std::string& name, int64_t value,
                                      const std::string& help,
                                      std::vector<std::string> aliases);
// One of `numbers`.
catalogue::Parameter AmongNumbers(catalogue::Parameter parameter,
                                  std::vector<double> numbers);
// Kernels have a middle.
catalogue::Parameter Odd(catalogue::Parameter parameter);

// Appends `input` and `output`, which name the fields.
std::vector<catalogue::Parameter> WithFields(
    std::vector<catalogue::Parameter> parameters);
// Reads them.
ModelFields FieldsFrom(const Params& params);

// What models of signals have: leads and classes; then `more` and the fields.
std::vector<catalogue::Parameter> SignalParameters(
    std::vector<catalogue::Parameter> more);

// What models that enlarge images have, also under basicsr's names: channels,
// features, blocks, and `upscale`, one of `factors`; then `more` and the
// fields.
std::vector<catalogue::Parameter> EnlargingParameters(
    int64_t blocks, std::vector<double> factors,
    std::vector<catalogue::Parameter> more = {});
// Reads them but `more`.
template <class Options>
Options ReadEnlarging(const Params& params) {
  Options options;
  options.fields = FieldsFrom(params);
  options.in_channels = params.Int("in_channels");
  options.out_channels = params.Int("out_channels");
  options.features = params.Int("features");
  options.blocks = params.Int("blocks");
  options.upscale = params.Int("upscale");
  return options;
}

}  // namespace epochd::engine
