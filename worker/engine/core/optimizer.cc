// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/optimizer.h"

#include <algorithm>

#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"

namespace epochd::engine {

nlohmann::ordered_json Optimizer::Settings() const {
  auto settings = nlohmann::ordered_json::array();
  size_t next = 0;
  for (const Group& group : groups()) {
    auto names = nlohmann::ordered_json::array();
    for (size_t i = 0; i < group.num_parameters; ++i) {
      names.push_back(parameters()[next++].name);
    }
    settings.push_back(
        {{"name", group.name},
         {"lr", FromNumber(group.lr)},
         {"momentum", FromNumber(group.momentum)},
         {"weight_decay", FromNumber(group.weight_decay)},
         {"initial_lr", FromNumber(group.initial_lr)},
         {"initial_momentum", FromNumber(group.initial_momentum)},
         {"parameters", std::move(names)}});
    if (!type_.empty()) settings.back()["type"] = type_;
  }
  return settings;
}

std::string Optimizer::LoadSettings(const nlohmann::ordered_json& settings) {
  const nlohmann::ordered_json own = Settings();
  if (settings.size() != own.size()) {
    return std::to_string(settings.size()) + " groups of parameters, not " +
           std::to_string(own.size());
  }
  for (size_t i = 0; i < own.size(); ++i) {
    const auto& was = settings[i].at("parameters");
    const auto& is = own[i].at("parameters");
    if (was == is) continue;
    std::string problem = "group " + std::to_string(i) + " \"" +
                          own[i].value("name", "") + "\" has ";
    for (const auto& name : is) {
      if (std::find(was.begin(), was.end(), name) == was.end()) {
        return problem + "\"" + name.get<std::string>() +
               "\", which was not in it";
      }
    }
    for (const auto& name : was) {
      if (std::find(is.begin(), is.end(), name) == is.end()) {
        return problem + "no \"" + name.get<std::string>() +
               "\", which was in it";
      }
    }
    return problem + "its parameters in another order";
  }
  for (size_t i = 0; i < own.size(); ++i) {
    Group& group = groups()[i];
    group.lr = ToNumber(settings[i].at("lr"));
    group.momentum = ToNumber(settings[i].at("momentum"));
    group.weight_decay = ToNumber(settings[i].at("weight_decay"));
    group.initial_lr = ToNumber(settings[i].at("initial_lr"));
    group.initial_momentum = ToNumber(settings[i].at("initial_momentum"));
  }
  return "";
}

std::string RestoreOptimizer(Optimizer& optimizer,
                             const nlohmann::ordered_json& settings,
                             const std::vector<NamedTensor>& state) {
  const std::string saved =
      settings.empty() ? "" : settings.front().value("type", "");
  if (!saved.empty() && !optimizer.type().empty() &&
      saved != optimizer.type()) {
    throw Error(ErrorKind::kBadSpec,
                "optimizer state: of " + saved + ", this optimizer is " +
                    optimizer.type() + "; one of the same type is accepted");
  }
  const std::vector<Optimizer::Group> before = optimizer.groups();
  std::string problem = optimizer.LoadSettings(settings);
  if (!problem.empty()) return problem;
  try {
    optimizer.LoadState(state);
  } catch (...) {
    optimizer.groups() = before;
    throw;
  }
  return "";
}

}  // namespace epochd::engine
