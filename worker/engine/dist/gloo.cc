// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/gloo.h"

#include <ATen/ATen.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/dist/group_communicator.h"
#include "worker/engine/dist/reducer_sync.h"

namespace epochd::engine {
namespace {

[[noreturn]] void Refuse(const std::string& rendezvous,
                         const std::string& problem) {
  throw Error(ErrorKind::kInfrastructure,
              "rendezvous \"" + rendezvous + "\": " + problem);
}

struct Endpoint {
  std::string host;
  uint16_t port = 0;
};

Endpoint ParseEndpoint(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) Refuse(text, "host:port is accepted");
  Endpoint endpoint{text.substr(0, colon), 0};
  if (endpoint.host.size() > 2 && endpoint.host.front() == '[') {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  const long port = std::strtol(text.c_str() + colon + 1, nullptr, 10);
  if (port < 0 || port > 65535) Refuse(text, "host:port is accepted");
  endpoint.port = static_cast<uint16_t>(port);
  return endpoint;
}

// The address of this machine that packets to the endpoint leave from.
std::string LocalAddressTowards(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(std::max<int>(endpoint.port, 1));
  if (getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found) != 0) {
    return endpoint.host;
  }
  std::string address = endpoint.host;
  const int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage local{};
  socklen_t size = sizeof(local);
  char text[NI_MAXHOST];
  if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) == 0 &&
      getnameinfo(reinterpret_cast<sockaddr*>(&local), size, text, sizeof(text),
                  nullptr, 0, NI_NUMERICHOST) == 0) {
    address = text;
  }
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  return address;
}

}  // namespace

c10::intrusive_ptr<c10d::Store> MeetAtStore(const GlooOptions& options) {
  const Endpoint endpoint = ParseEndpoint(options.rendezvous);
  c10d::TCPStoreOptions store;
  store.port = endpoint.port;
  store.isServer = options.rank == 0;
  store.numWorkers = options.world_size;
  store.timeout = options.timeout;
  if (store.isServer && options.listen_fd >= 0) {
    store.masterListenFd = options.listen_fd;
  }
  try {
    return c10::make_intrusive<c10d::TCPStore>(endpoint.host, store);
  } catch (const std::exception& error) {
    const std::string cause = error.what();
    Refuse(options.rendezvous,
           "ranks did not meet: " + cause.substr(0, cause.find('\n')));
  }
}

c10::intrusive_ptr<c10d::ProcessGroup> MakeGlooGroup(
    const c10::intrusive_ptr<c10d::Store>& store, const GlooOptions& options,
    const std::string& prefix) {
  const std::string host =
      options.host.empty()
          ? LocalAddressTowards(ParseEndpoint(options.rendezvous))
          : options.host;
  return WithPeers("rendezvous", [&] {
    auto own = c10::make_intrusive<c10d::PrefixStore>(prefix, store);
    auto gloo_options =
        c10d::ProcessGroupGloo::Options::create(options.timeout);
    gloo_options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname(host));
    gloo_options->threads = 2;
    auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
        own, options.rank, options.world_size, gloo_options);
    auto group = c10::make_intrusive<c10d::ProcessGroup>(own, options.rank,
                                                         options.world_size);
    group->setBackend(c10::DeviceType::CPU,
                      c10d::ProcessGroup::BackendType::GLOO, gloo);
    group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
    group->setGroupName("epochd_" + prefix);
    return group;
  });
}

std::unique_ptr<Communicator> MakeGlooCommunicator(const GlooOptions& options) {
  auto store = MeetAtStore(options);
  auto group = MakeGlooGroup(store, options, "cpu");
  return std::make_unique<GroupCommunicator>(store, group, group);
}

}  // namespace epochd::engine
