// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/process_collector.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "server/metrics/family.h"

namespace epochd::metrics {
namespace {

using prometheus::MetricType;

struct ProcessFamilies {
  FamilySpec cpu{"process_cpu_seconds_total",
                 "User and system CPU time spent.",
                 MetricType::Counter,
                 {}};
  FamilySpec resident{"process_resident_memory_bytes",
                      "Resident memory size.",
                      MetricType::Gauge,
                      {}};
  FamilySpec virtual_memory{"process_virtual_memory_bytes",
                            "Virtual memory size.",
                            MetricType::Gauge,
                            {}};
  FamilySpec start{"process_start_time_seconds",
                   "Start of the process in seconds since 1970.",
                   MetricType::Gauge,
                   {}};
  FamilySpec open_files{
      "process_open_fds", "Open file descriptors.", MetricType::Gauge, {}};
  FamilySpec max_files{"process_max_fds",
                       "Most file descriptors that may be open.",
                       MetricType::Gauge,
                       {}};
};

const ProcessFamilies& Families() {
  static const ProcessFamilies families;
  return families;
}

// Fields of /proc/self/stat from the third on, which no name can disturb.
std::vector<double> StatFields() {
  std::ifstream file("/proc/self/stat");
  std::string line((std::istreambuf_iterator<char>(file)), {});
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return {};
  std::istringstream rest(line.substr(end_of_name + 1));
  std::string state;
  rest >> state;
  std::vector<double> fields = {0};
  for (double value = 0; rest >> value;) fields.push_back(value);
  return fields;
}

std::optional<double> BootTime() {
  std::ifstream file("/proc/stat");
  std::string word;
  while (file >> word) {
    double value = 0;
    if (word == "btime" && file >> value) return value;
  }
  return std::nullopt;
}

double NumOpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  if (error) return std::nan("");
  // The iterator itself holds one.
  return static_cast<double>(std::distance(begin(open), end(open))) - 1;
}

}  // namespace

std::vector<prometheus::MetricFamily> ProcessCollector::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  const auto put = [&](const FamilySpec& spec, double value) {
    FamilyBuilder family(spec, 1);
    family.Add({}, value);
    families.push_back(family.Take());
  };
  // Positions as in proc(5), less the first two fields.
  constexpr std::size_t kUserTime = 11;
  constexpr std::size_t kSystemTime = 12;
  constexpr std::size_t kStartTime = 19;
  constexpr std::size_t kVirtualSize = 20;
  constexpr std::size_t kResidentPages = 21;
  const std::vector<double> stat = StatFields();
  if (stat.size() > kResidentPages) {
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    put(Families().cpu, (stat[kUserTime] + stat[kSystemTime]) / ticks);
    put(Families().virtual_memory, stat[kVirtualSize]);
    put(Families().resident,
        stat[kResidentPages] * static_cast<double>(sysconf(_SC_PAGESIZE)));
    if (const auto boot = BootTime()) {
      put(Families().start, *boot + stat[kStartTime] / ticks);
    }
  }
  put(Families().open_files, NumOpenFiles());
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    put(Families().max_files, static_cast<double>(limit.rlim_cur));
  }
  return families;
}

}  // namespace epochd::metrics
