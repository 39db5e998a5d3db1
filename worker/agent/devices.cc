// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/devices.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "worker/link/attempt_folder.h"

namespace epochd::agent {
namespace {

std::vector<int> AllowedCores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

// Folder of our own control group of `controller`, in version 2 or 1.
std::string ControlGroup(const std::string& controller) {
  std::istringstream lines(link::ReadFile("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty() &&
        access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0) {
      return "/sys/fs/cgroup" + path;
    }
    if (controllers.find(controller) != std::string::npos) {
      return "/sys/fs/cgroup/" + controller + path;
    }
  }
  return "";
}

std::optional<int64_t> ReadNumber(const std::string& path) {
  int64_t value = 0;
  if (absl::SimpleAtoi(
          absl::StripAsciiWhitespace(link::ReadFile(path).value_or("")),
          &value)) {
    return value;
  }
  return std::nullopt;
}

// Cores' worth of time that the control group allows.
std::optional<double> CpuQuota() {
  const std::string group = ControlGroup("cpu");
  double quota = 0;
  double period = 0;
  std::istringstream both(link::ReadFile(group + "/cpu.max").value_or(""));
  if (both >> quota >> period && period > 0) return quota / period;
  const auto old_quota = ReadNumber(group + "/cpu.cfs_quota_us");
  const auto old_period = ReadNumber(group + "/cpu.cfs_period_us");
  if (old_quota.value_or(-1) > 0 && old_period.value_or(0) > 0) {
    return static_cast<double>(*old_quota) / static_cast<double>(*old_period);
  }
  return std::nullopt;
}

std::string CpuModel() {
  const std::string info = link::ReadFile("/proc/cpuinfo").value_or("");
  const size_t at = info.find("model name");
  if (at == std::string::npos) return "cpu";
  const size_t colon = info.find(':', at);
  const size_t end = info.find('\n', at);
  if (colon == std::string::npos || end < colon) return "cpu";
  return std::string(
      absl::StripAsciiWhitespace(info.substr(colon + 1, end - colon - 1)));
}

}  // namespace

int UsableCpus() {
  int count = static_cast<int>(AllowedCores().size());
  if (const auto quota = CpuQuota()) {
    count = std::min(count, static_cast<int>(std::ceil(*quota)));
  }
  return std::max(count, 1);
}

int64_t UsableMemory() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
                  static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  const std::string group = ControlGroup("memory");
  for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
    if (const auto limit = ReadNumber(group + name); limit && *limit > 0) {
      bytes = std::min(bytes, *limit);
    }
  }
  return bytes;
}

std::vector<Device> CpuSlots(int count) {
  const std::vector<int> cores = AllowedCores();
  const std::string model = CpuModel();
  std::vector<Device> slots;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<size_t>(i);
    const int number =
        index < cores.size()
            ? cores[index]
            : cores.back() + 1 + i - static_cast<int>(cores.size());
    slots.push_back({.id = absl::StrCat("cpu:", number),
                     .kind = DeviceKind::kCpu,
                     .model = model});
  }
  return slots;
}

}  // namespace epochd::agent
