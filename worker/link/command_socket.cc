// SPDX-License-Identifier: Apache-2.0
#include "worker/link/command_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

namespace epochd::link {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxCommandBytes = 4096;

// Names a socket by its folder's descriptor, since sun_path holds 107 bytes.
// `dir_fd` must stay open while the address is used.
bool MakeAddress(const std::string& path, int& dir_fd, sockaddr_un& address) {
  const size_t slash = path.rfind('/');
  const std::string dir =
      slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string name =
      slash == std::string::npos ? path : path.substr(slash + 1);
  dir_fd = open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (dir_fd < 0) return false;
  const std::string short_path =
      "/proc/self/fd/" + std::to_string(dir_fd) + "/" + name;
  address = {};
  address.sun_family = AF_UNIX;
  if (short_path.size() >= sizeof address.sun_path) {
    close(dir_fd);
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(address.sun_path, short_path.c_str(), short_path.size() + 1);
  return true;
}

}  // namespace

std::string ToJson(const Command& command) {
  Json json = {{"command", command.name}};
  if (command.deadline_ns != 0) json["deadline_ns"] = command.deadline_ns;
  if (command.offset != 0) json["offset"] = command.offset;
  return json.dump();
}

std::optional<Command> ParseCommand(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto name = json.find("command");
  if (name == json.end() || !name->is_string()) return std::nullopt;
  const auto integer = [&](const char* key) -> int64_t {
    const auto it = json.find(key);
    return it != json.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
  };
  return Command{.name = name->get<std::string>(),
                 .deadline_ns = integer("deadline_ns"),
                 .offset = integer("offset")};
}

CommandSocket::CommandSocket(const std::string& path) : path_(path) {
  int dir_fd = -1;
  sockaddr_un address{};
  if (MakeAddress(path, dir_fd, address)) {
    unlink(address.sun_path);
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ >= 0 && bind(fd_, reinterpret_cast<const sockaddr*>(&address),
                         sizeof address) != 0) {
      const int error = errno;
      close(fd_);
      fd_ = -1;
      errno = error;
    }
    const int error = errno;
    close(dir_fd);
    errno = error;
  }
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path);
}

CommandSocket::~CommandSocket() {
  close(fd_);
  unlink(path_.c_str());
}

std::optional<Command> CommandSocket::Receive() {
  char buffer[kMaxCommandBytes];
  while (true) {
    const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR) continue;
      return std::nullopt;
    }
    std::optional<Command> command =
        ParseCommand(std::string_view(buffer, static_cast<size_t>(n)));
    if (command) return command;
  }
}

std::optional<Command> CommandSocket::Wait(int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    if (std::optional<Command> command = Receive()) return command;
    int left = -1;
    if (timeout_ms >= 0) {
      left = static_cast<int>(
          std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now())
              .count());
      if (left <= 0) return std::nullopt;
    }
    pollfd waited{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&waited, 1, left) < 0 && errno != EINTR) return std::nullopt;
  }
}

bool CommandSocket::Send(const std::string& path, const Command& command) {
  int dir_fd = -1;
  sockaddr_un address{};
  if (!MakeAddress(path, dir_fd, address)) return false;
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const std::string text = ToJson(command);
  const bool sent =
      fd >= 0 &&
      sendto(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address),
             sizeof address) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  close(dir_fd);
  return sent;
}

}  // namespace epochd::link
