// SPDX-License-Identifier: Apache-2.0
//
// SyntheticEcg: a data module that writes made-up ECG records (ecg_model.h) in
// the WFDB format before a run, so that an example or a test needs no
// download. Each patient has one record of each rhythm; a header's comments
// name patient and rhythm, annotations hold beats and rhythm. The same options
// give the same bytes; records that are there already are kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/data/data_module.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct SyntheticEcgOptions {
  std::string folder = {};
  int64_t patients = 40;
  double seconds = 30;
  double fs = 100;
  int64_t leads = 2;
  double noise = 0.03;   // mV
  double wander = 0.15;  // mV
  uint64_t seed = 0;
};

class SyntheticEcg : public DataModule {
 public:
  explicit SyntheticEcg(SyntheticEcgOptions options)
      : options_(std::move(options)) {}
  // Throws Error(kInfrastructure) naming what cannot be written, and
  // Error(kBadSpec) where the folder holds records of other options.
  void Prepare() override;

 private:
  const SyntheticEcgOptions options_;
};

std::vector<Entry<DataModule>> BuiltinSignalDataModules();

}  // namespace epochd::engine
