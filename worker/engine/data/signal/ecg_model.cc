// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/ecg_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace epochd::engine {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr size_t kP = 0, kQ = 1, kR = 2, kS = 3, kT = 4;

// The published values, for one beat a second.
constexpr std::array<double, 5> kAngle = {-kPi / 3, -kPi / 12, 0, kPi / 12,
                                          kPi / 2};
constexpr std::array<double, 5> kHeight = {1.2, -5.0, 30.0, -7.5, 0.75};
constexpr std::array<double, 5> kWidth = {0.25, 0.1, 0.1, 0.1, 0.4};
// Of z to mV: R waves then are about 1 mV high.
constexpr double kScale = 3.3;

// One turn of the point, from half way before a beat to half way after it.
struct Turn {
  double before = 0;  // seconds from the beat before, and to the one after
  double after = 0;
  bool is_ventricular = false;
  std::array<double, 5> angle{};
  std::array<double, 5> height{};
  std::array<double, 5> width{};
};

double Within(double least, double most, Random& random) {
  return least + (most - least) * random.Uniform();
}

// Seconds from each beat to the next, of at least `seconds` in all, and
// whether the beat is ventricular.
std::vector<std::pair<double, bool>> Beats(EcgRhythm rhythm, double seconds,
                                           Random& random) {
  double rate = 0;
  switch (rhythm) {
    case EcgRhythm::kSinus:
      rate = Within(62, 98, random);
      break;
    case EcgRhythm::kBradycardia:
      rate = Within(42, 58, random);
      break;
    case EcgRhythm::kTachycardia:
      rate = Within(102, 150, random);
      break;
    case EcgRhythm::kFibrillation:
      rate = Within(65, 140, random);
      break;
    case EcgRhythm::kBigeminy:
      rate = Within(60, 95, random);
      break;
  }
  const double mean = 60 / rate;
  const double breath = Within(0.2, 0.3, random);  // Hz
  const double mayer = Within(0.08, 0.12, random);
  const double phase = 2 * kPi * random.Uniform();
  const double spread = Within(0.16, 0.26, random);
  std::vector<std::pair<double, bool>> beats;
  double time = 0;
  bool is_early = false;
  while (time < seconds) {
    double length =
        mean *
        (1 + 0.025 * std::sin(2 * kPi * breath * time + phase) +
         0.015 * std::sin(2 * kPi * mayer * time) + 0.01 * random.Normal());
    if (rhythm == EcgRhythm::kFibrillation) {
      length = mean * std::exp(spread * random.Normal() - spread * spread / 2);
      length = std::max(length, 0.28);
    } else if (rhythm == EcgRhythm::kBigeminy) {
      length *= is_early ? 1.38 : 0.62;
    }
    beats.emplace_back(length, is_early);
    if (rhythm == EcgRhythm::kBigeminy) is_early = !is_early;
    time += length;
  }
  return beats;
}

Turn MakeTurn(const EcgPatient& patient, EcgRhythm rhythm,
              const std::vector<std::pair<double, bool>>& beats, size_t beat) {
  const bool is_ventricular = beats[beat].second;
  Turn turn{.before = beats[beat == 0 ? 0 : beat - 1].first,
            .after = beats[beat].first,
            .is_ventricular = is_ventricular,
            .angle = patient.angle,
            .height = patient.height,
            .width = patient.width};
  // Waves last about as long however short the beat is, so that they take
  // more of a shorter turn: with its square root, as in the authors' program.
  const double seconds = (turn.before + turn.after) / 2;
  const double pace = std::sqrt(1 / std::clamp(seconds, 0.3, 2.0));
  for (size_t i = 0; i < 5; ++i) {
    turn.width[i] *= pace;
    turn.height[i] /= pace;
  }
  turn.angle[kP] *= std::sqrt(pace);
  turn.angle[kQ] *= pace;
  turn.angle[kS] *= pace;
  if (rhythm == EcgRhythm::kFibrillation || is_ventricular) {
    turn.height[kP] = 0;
  }
  if (is_ventricular) {
    turn.height[kR] *= 0.62;
    turn.width[kR] *= 2.4;
    turn.height[kS] *= 1.5;
    turn.width[kS] *= 2.6;
    turn.angle[kS] *= 2.2;
    turn.height[kQ] = 0;
    turn.height[kT] *= -2.2;
  }
  return turn;
}

double Pull(const Turn& turn, const std::array<double, 5>& lead, double angle,
            double speed) {
  double sum = 0;
  for (size_t i = 0; i < 5; ++i) {
    const double d = std::remainder(angle - turn.angle[i], 2 * kPi);
    const double share = d / turn.width[i];
    if (std::abs(share) > 6) continue;
    sum -= lead[i] * turn.height[i] * speed * d * std::exp(-share * share / 2);
  }
  return sum;
}

}  // namespace

std::string EcgRhythmName(EcgRhythm rhythm) {
  switch (rhythm) {
    case EcgRhythm::kSinus:
      return "N";
    case EcgRhythm::kBradycardia:
      return "SBR";
    case EcgRhythm::kTachycardia:
      return "ST";
    case EcgRhythm::kFibrillation:
      return "AFIB";
    case EcgRhythm::kBigeminy:
      return "B";
  }
  return "";
}

EcgPatient DrawEcgPatient(int leads, Random& random) {
  EcgPatient patient;
  for (size_t i = 0; i < 5; ++i) {
    patient.angle[i] = kAngle[i] * (1 + 0.08 * random.Normal());
    patient.height[i] = kHeight[i] * std::exp(0.25 * random.Normal());
    patient.width[i] = kWidth[i] * std::exp(0.12 * random.Normal());
  }
  for (int lead = 0; lead < leads; ++lead) {
    std::array<double, 5> factors{};
    // The heart's axis: all waves of a lead together, then each by itself.
    const double size = Within(0.5, 1.2, random);
    for (double& factor : factors) {
      factor = size * (1 + 0.25 * random.Normal());
    }
    patient.leads.push_back(factors);
  }
  return patient;
}

Ecg MakeEcg(const EcgPatient& patient, const EcgOptions& options,
            Random& random) {
  // Four steps a sample: the waves are as short as 20 ms.
  constexpr int kSteps = 4;
  const auto size = static_cast<int64_t>(options.seconds * options.fs);
  const double step = 1 / (options.fs * kSteps);
  const auto beats = Beats(options.rhythm, options.seconds + 2, random);
  const size_t leads = patient.leads.size();
  Ecg ecg;
  ecg.leads.resize(leads);
  for (auto& lead : ecg.leads) lead.reserve(size);

  const double flutter = Within(4.5, 8.5, random);  // Hz
  const double flutter_size = options.rhythm == EcgRhythm::kFibrillation
                                  ? Within(0.03, 0.08, random)
                                  : 0;
  const double breath = Within(0.15, 0.35, random);
  std::vector<double> phases;
  for (size_t lead = 0; lead < leads; ++lead) {
    phases.push_back(2 * kPi * random.Uniform());
  }

  // Begins anywhere within the first beat.
  size_t beat = 0;
  double angle = -kPi + 2 * kPi * random.Uniform();
  Turn turn = MakeTurn(patient, options.rhythm, beats, beat);
  std::vector<double> z(leads, 0.0);
  double flutter_phase = 2 * kPi * random.Uniform();
  for (int64_t i = 0; i < size; ++i) {
    for (int k = 0; k < kSteps; ++k) {
      const double speed = 2 * kPi / (angle < 0 ? turn.before : turn.after);
      const double before = angle;
      for (size_t lead = 0; lead < leads; ++lead) {
        // Heun's rule: the slope at both ends of the step.
        const auto& factors = patient.leads[lead];
        const double first = Pull(turn, factors, angle, speed) - z[lead];
        const double guess = z[lead] + step * first;
        const double second =
            Pull(turn, factors, angle + speed * step, speed) - guess;
        z[lead] += step * (first + second) / 2;
      }
      angle += speed * step;
      if (before < 0 && angle >= 0) {
        ecg.beats.push_back(
            {.sample = i, .is_ventricular = turn.is_ventricular});
      }
      if (angle >= kPi) {
        angle -= 2 * kPi;
        beat = std::min(beat + 1, beats.size() - 1);
        turn = MakeTurn(patient, options.rhythm, beats, beat);
      }
    }
    const double time = static_cast<double>(i) / options.fs;
    // The flutter's rate wanders.
    flutter_phase +=
        2 * kPi * flutter / options.fs * (1 + 0.3 * random.Normal());
    for (size_t lead = 0; lead < leads; ++lead) {
      const double slow =
          options.wander * std::sin(2 * kPi * breath * time + phases[lead]);
      const double fast = flutter_size * std::sin(flutter_phase + phases[lead]);
      ecg.leads[lead].push_back(static_cast<float>(
          z[lead] * kScale + slow + fast + options.noise * random.Normal()));
    }
  }
  return ecg;
}

}  // namespace epochd::engine
