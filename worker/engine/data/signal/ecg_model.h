// SPDX-License-Identifier: Apache-2.0
//
// Made-up electrocardiograms by the dynamical model of McSharry, Clifford,
// Tarassenko and Smith (IEEE Trans. Biomed. Eng. 50(3), 2003): a point runs
// round a circle once per beat, and waves P, Q, R, S and T pull a third
// coordinate up or down where it passes them:
//
//   dz/dt = - sum_i a_i * w * d_i * exp(-d_i^2 / (2 b_i^2)) - (z - z_0)
//
// with d_i the angle from wave i and w the angular speed of the beat (their
// equation has no w there; with it waves keep their height when beats get
// shorter). Rhythms differ in the lengths of beats and in the waves that beats
// have. Pure functions of the stream handed in; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/data/random.h"

namespace epochd::engine {

enum class EcgRhythm {
  kSinus,         // 62 to 98 beats a minute, breathing in it
  kBradycardia,   // 42 to 58
  kTachycardia,   // 102 to 150
  kFibrillation,  // beats of irregular length, no P wave, a flutter instead
  kBigeminy,      // every second beat early, wide, without P wave
};
inline constexpr int kNumEcgRhythms = 5;

// As annotations name them: N, SBR, ST, AFIB, B.
std::string EcgRhythmName(EcgRhythm rhythm);

// What belongs to a person: sizes, places and widths of the waves, and how each
// lead sees them.
struct EcgPatient {
  std::array<double, 5> angle{};  // of P, Q, R, S, T; 0: R
  std::array<double, 5> height{};
  std::array<double, 5> width{};
  std::vector<std::array<double, 5>> leads;  // factor of each wave
};
EcgPatient DrawEcgPatient(int leads, Random& random);

struct EcgOptions {
  EcgRhythm rhythm = EcgRhythm::kSinus;
  double seconds = 10;
  double fs = 250;      // samples a second
  double noise = 0.02;  // mV, deviation of white noise
  double wander = 0.1;  // mV, of the slow movement of the baseline
};

struct EcgBeat {
  int64_t sample = 0;  // of its R wave
  bool is_ventricular = false;
};

struct Ecg {
  std::vector<std::vector<float>> leads;  // mV
  std::vector<EcgBeat> beats;
};
Ecg MakeEcg(const EcgPatient& patient, const EcgOptions& options,
            Random& random);

}  // namespace epochd::engine
