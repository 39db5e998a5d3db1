// SPDX-License-Identifier: Apache-2.0
#include "program/home.h"

#include <cstdlib>
#include <string_view>

namespace epochd::program {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::string HomeDir() {
  if (const auto home = Environment("EPOCHD_HOME"); !home.empty()) {
    return std::string(home);
  }
  if (const auto data = Environment("XDG_DATA_HOME"); !data.empty()) {
    return std::string(data) + "/epochd";
  }
  if (const auto home = Environment("HOME"); !home.empty()) {
    return std::string(home) + "/.local/share/epochd";
  }
  return "/var/lib/epochd";
}

std::string DefaultCoordinatorDir() { return HomeDir() + "/coordinator"; }

std::string DefaultWorkerDir() { return HomeDir() + "/worker"; }

std::string DefaultTokenFile() { return DefaultCoordinatorDir() + "/token"; }

}  // namespace epochd::program
