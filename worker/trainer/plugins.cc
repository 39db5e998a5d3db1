// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/plugins.h"

#include <dlfcn.h>

#include <sstream>
#include <stdexcept>

#include "worker/engine/registry/plugin.h"
#include "worker/engine/version.h"
#include "worker/trainer/components.h"

namespace epochd::trainer {
namespace {

const engine::Plugin& Open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error("plugin '" + path + "': " + dlerror());
  }
  const auto* plugin =
      static_cast<const engine::Plugin*>(dlsym(library, "epochd_plugin"));
  if (plugin == nullptr) {
    throw std::runtime_error("plugin '" + path +
                             "': no EPOCHD_PLUGIN in this library");
  }
  if (plugin->engine_version != engine::EngineVersion()) {
    throw std::runtime_error("plugin '" + path + "': built for engine " +
                             plugin->engine_version + "; this one is " +
                             std::string(engine::EngineVersion()));
  }
  return *plugin;
}

}  // namespace

void OpenPlugins(const std::string& paths) {
  std::istringstream list(paths);
  for (std::string path; std::getline(list, path, ':');) {
    if (path.empty()) continue;
    try {
      AddPlugin(Open(path));
    } catch (const std::logic_error& error) {
      throw std::runtime_error("plugin '" + path + "': " + error.what());
    }
  }
}

}  // namespace epochd::trainer
