// SPDX-License-Identifier: Apache-2.0
//
// The few functions of NVML that are needed, declared here, since the library
// comes with the driver and is not there when we are built.
#include <dlfcn.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "worker/agent/devices.h"

namespace epochd::agent {
namespace {

constexpr int kNvmlSuccess = 0;
constexpr unsigned int kTextSize = 96;

using NvmlDevice = void*;

struct NvmlMemory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    bool found = Find("nvmlInit_v2", init_);
    found = Find("nvmlShutdown", shutdown_) && found;
    found = Find("nvmlDeviceGetCount_v2", get_count_) && found;
    found = Find("nvmlDeviceGetHandleByIndex_v2", get_device_) && found;
    found = Find("nvmlDeviceGetUUID", get_uuid_) && found;
    found = Find("nvmlDeviceGetName", get_name_) && found;
    found = Find("nvmlDeviceGetMemoryInfo", get_memory_) && found;
    ready_ = found && init_() == kNvmlSuccess;
    if (!ready_) spdlog::warn("NVML is there but does not start; no GPUs");
  }
  ~Nvml() {
    if (ready_) shutdown_();
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::vector<Device> List() const {
    std::vector<Device> gpus;
    unsigned int count = 0;
    if (!ready_ || get_count_(&count) != kNvmlSuccess) return gpus;
    for (unsigned int i = 0; i < count; ++i) {
      NvmlDevice device = nullptr;
      char uuid[kTextSize] = "";
      char name[kTextSize] = "";
      NvmlMemory memory;
      if (get_device_(i, &device) != kNvmlSuccess ||
          get_uuid_(device, uuid, kTextSize) != kNvmlSuccess) {
        spdlog::warn("GPU {} does not answer; it is not offered", i);
        continue;
      }
      get_name_(device, name, kTextSize);
      get_memory_(device, &memory);
      gpus.push_back({.id = uuid,
                      .kind = DeviceKind::kGpu,
                      .model = ShortModel(name),
                      .memory_bytes = static_cast<int64_t>(memory.total)});
    }
    return gpus;
  }

 private:
  template <typename Function>
  bool Find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    return function != nullptr;
  }

  // "NVIDIA H200" is called H200 in job files.
  static std::string ShortModel(std::string name) {
    constexpr std::string_view kMaker = "NVIDIA ";
    return name.rfind(kMaker, 0) == 0 ? name.substr(kMaker.size()) : name;
  }

  void* library_ = nullptr;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*get_count_)(unsigned int*) = nullptr;
  int (*get_device_)(unsigned int, NvmlDevice*) = nullptr;
  int (*get_uuid_)(NvmlDevice, char*, unsigned int) = nullptr;
  int (*get_name_)(NvmlDevice, char*, unsigned int) = nullptr;
  int (*get_memory_)(NvmlDevice, NvmlMemory*) = nullptr;
};

}  // namespace

std::vector<Device> Gpus() { return Nvml().List(); }

}  // namespace epochd::agent
