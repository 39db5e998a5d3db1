// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_writer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

void WriteBytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (!file) {
    throw Error(ErrorKind::kInfrastructure,
                "file \"" + path.string() + "\": cannot be written");
  }
}

void AppendWord(std::string& bytes, uint32_t word) {
  bytes += static_cast<char>(word & 0xff);
  bytes += static_cast<char>(word >> 8 & 0xff);
}

}  // namespace

void WriteWfdbRecord(const std::string& folder, const std::string& name,
                     const WfdbContent& content) {
  const size_t count = content.signals.size();
  const size_t frames = count == 0 ? 0 : content.signals.front().size();
  std::string data;
  data.reserve(2 * count * frames);
  std::vector<uint16_t> sums(count, 0);
  std::vector<int> first(count, 0);
  for (size_t i = 0; i < frames; ++i) {
    for (size_t k = 0; k < count; ++k) {
      // -32768 stands for "no sample".
      const double value =
          std::clamp(std::nearbyint(content.signals[k][i] * content.gain),
                     -32767.0, 32767.0);
      const auto sample = static_cast<int>(value);
      if (i == 0) first[k] = sample;
      sums[k] = static_cast<uint16_t>(sums[k] + sample);
      AppendWord(data, static_cast<uint32_t>(sample));
    }
  }
  std::ostringstream header;
  header << name << ' ' << count << ' ' << content.fs << ' ' << frames << '\n';
  for (size_t k = 0; k < count; ++k) {
    header << name << ".dat 16 " << content.gain << "(0)/" << content.units
           << " 16 0 " << first[k] << ' ' << sums[k] << " 0 "
           << content.names[k] << '\n';
  }
  for (const std::string& comment : content.comments) {
    header << "# " << comment << '\n';
  }
  const std::filesystem::path base = std::filesystem::path(folder) / name;
  WriteBytes(base.string() + ".dat", data);
  WriteBytes(base.string() + ".hea", header.str());
}

std::string EncodeWfdbAnnotations(
    const std::vector<WfdbAnnotation>& annotations) {
  constexpr uint32_t kSkipWord = 59 << 10;
  constexpr uint32_t kAuxWord = 63 << 10;
  std::string bytes;
  int64_t time = 0;
  for (const WfdbAnnotation& each : annotations) {
    auto interval = static_cast<uint32_t>(each.sample - time);
    time = each.sample;
    if (interval > 1023) {
      AppendWord(bytes, kSkipWord);
      AppendWord(bytes, interval >> 16);
      AppendWord(bytes, interval & 0xffff);
      interval = 0;
    }
    AppendWord(bytes, static_cast<uint32_t>(each.code) << 10 | interval);
    if (each.aux.empty()) continue;
    const std::string aux = each.aux.substr(0, 255);
    AppendWord(bytes, kAuxWord | static_cast<uint32_t>(aux.size()));
    bytes += aux;
    if (aux.size() % 2 == 1) bytes += '\0';
  }
  AppendWord(bytes, 0);
  return bytes;
}

}  // namespace epochd::engine
