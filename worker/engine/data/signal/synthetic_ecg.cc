// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/synthetic_ecg.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/signal/ecg_model.h"
#include "worker/engine/data/signal/wfdb_writer.h"

namespace epochd::engine {
namespace {

namespace fs = std::filesystem;

constexpr int kNormalBeat = 1;
constexpr int kVentricularBeat = 5;
constexpr int kRhythmChange = 28;

constexpr std::array<const char*, 12> kLeadNames = {
    "I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6"};

// What the records were made of.
std::string Describe(const SyntheticEcgOptions& options) {
  std::ostringstream text;
  text << "SyntheticEcg 1: patients " << options.patients << ", seconds "
       << options.seconds << ", fs " << options.fs << ", leads "
       << options.leads << ", noise " << options.noise << ", wander "
       << options.wander << ", seed " << options.seed << '\n';
  return text.str();
}

std::string RecordName(int64_t patient, EcgRhythm rhythm) {
  std::string number = std::to_string(patient);
  if (number.size() < 3) number.insert(0, 3 - number.size(), '0');
  return "p" + number + "_" + EcgRhythmName(rhythm);
}

std::string ReadSmall(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteOne(const SyntheticEcgOptions& options, const fs::path& folder,
              int64_t number, const EcgPatient& patient, EcgRhythm rhythm) {
  Random random({options.seed, static_cast<uint64_t>(number),
                 1 + static_cast<uint64_t>(rhythm)});
  Ecg ecg = MakeEcg(patient,
                    {.rhythm = rhythm,
                     .seconds = options.seconds,
                     .fs = options.fs,
                     .noise = options.noise,
                     .wander = options.wander},
                    random);
  const std::string name = RecordName(number, rhythm);
  WfdbContent content{.fs = options.fs,
                      .signals = std::move(ecg.leads),
                      .comments = {"Patient: " + std::to_string(number),
                                   "Rhythm: " + EcgRhythmName(rhythm)}};
  for (int64_t lead = 0; lead < options.leads; ++lead) {
    content.names.push_back(kLeadNames[lead]);
  }
  WriteWfdbRecord(folder.string(), name, content);
  std::vector<WfdbAnnotation> annotations = {
      {.sample = 0, .code = kRhythmChange, .aux = "(" + EcgRhythmName(rhythm)}};
  for (const EcgBeat& beat : ecg.beats) {
    annotations.push_back(
        {.sample = beat.sample,
         .code = beat.is_ventricular ? kVentricularBeat : kNormalBeat});
  }
  std::ofstream file(folder / (name + ".atr"), std::ios::binary);
  file << EncodeWfdbAnnotations(annotations);
  file.close();
  if (!file) {
    throw Error(ErrorKind::kInfrastructure,
                "file \"" + (folder / (name + ".atr")).string() +
                    "\": cannot be written");
  }
}

}  // namespace

void SyntheticEcg::Prepare() {
  const fs::path folder = options_.folder;
  const fs::path done = folder / "SYNTHETIC";
  const std::string description = Describe(options_);
  std::error_code error;
  if (fs::exists(done, error)) {
    const std::string found = ReadSmall(done);
    if (found == description) return;
    throw Error(ErrorKind::kBadSpec,
                "experiment.data_module.folder: \"" + options_.folder +
                    "\" holds records of other options (" +
                    found.substr(0, std::min<size_t>(found.find('\n'), 200)) +
                    "); another folder is needed");
  }
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorKind::kInfrastructure,
                "folder \"" + options_.folder + "\": " + error.message());
  }
  std::string list;
  for (int64_t number = 0; number < options_.patients; ++number) {
    Random random({options_.seed, static_cast<uint64_t>(number), 0});
    const EcgPatient patient =
        DrawEcgPatient(static_cast<int>(options_.leads), random);
    for (int i = 0; i < kNumEcgRhythms; ++i) {
      const auto rhythm = static_cast<EcgRhythm>(i);
      WriteOne(options_, folder, number, patient, rhythm);
      list += RecordName(number, rhythm) + '\n';
    }
  }
  std::ofstream(folder / "RECORDS") << list;
  // Last: only a whole folder has it.
  std::ofstream file(done);
  file << description;
  file.close();
  if (!file) {
    throw Error(ErrorKind::kInfrastructure,
                "file \"" + done.string() + "\": cannot be written");
  }
}

std::vector<Entry<DataModule>> BuiltinSignalDataModules() {
  return {
      {{.kind = "data_module",
        .name = "SyntheticEcg",
        .help = "writes made-up ECG records for WfdbRecords, of the rhythms N, "
                "SBR, ST, AFIB and B",
        .parameters = {{.name = "folder",
                        .type = "path",
                        .required = true,
                        .help = "where they go; what is there is kept"},
                       {.name = "patients",
                        .type = "int",
                        .default_value = 40,
                        .min = 1,
                        .max = 100000,
                        .help = "each has one record of each rhythm"},
                       {.name = "seconds",
                        .type = "float",
                        .default_value = 30.0,
                        .min = 1,
                        .max = 86400,
                        .help = "length of a record"},
                       {.name = "fs",
                        .type = "float",
                        .default_value = 100.0,
                        .min = 50,
                        .max = 5000,
                        .help = "samples a second"},
                       {.name = "leads",
                        .type = "int",
                        .default_value = 2,
                        .min = 1,
                        .max = 12,
                        .help = "of I, II, III, aVR, aVL, aVF, V1 to V6"},
                       {.name = "noise",
                        .type = "float",
                        .default_value = 0.03,
                        .min = 0,
                        .help = "deviation of white noise, mV"},
                       {.name = "wander",
                        .type = "float",
                        .default_value = 0.15,
                        .min = 0,
                        .help = "slow movement of the baseline, mV"},
                       {.name = "seed",
                        .type = "int",
                        .default_value = 0,
                        .min = 0,
                        .help = "the job's seed changes nothing"}}},
       [](const Params& params) -> std::shared_ptr<DataModule> {
         return std::make_shared<SyntheticEcg>(SyntheticEcgOptions{
             .folder = params.String("folder"),
             .patients = params.Int("patients"),
             .seconds = params.Float("seconds"),
             .fs = params.Float("fs"),
             .leads = params.Int("leads"),
             .noise = params.Float("noise"),
             .wander = params.Float("wander"),
             .seed = static_cast<uint64_t>(params.Int("seed"))});
       }}};
}

}  // namespace epochd::engine
