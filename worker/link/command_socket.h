// SPDX-License-Identifier: Apache-2.0
//
// The trainer's end of control.sock, and the way to send to it. Datagrams, one
// JSON object each (command.h). Paths of any length work: the socket is bound
// and found through /proc/self/fd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace epochd::link {

struct Command {
  std::string name;         // command.h
  int64_t deadline_ns = 0;  // lease: of CLOCK_MONOTONIC
  int64_t offset = 0;       // recorded
};

std::string ToJson(const Command& command);
// nullopt: not a command. Unknown names are returned: the reader skips them.
std::optional<Command> ParseCommand(std::string_view text);

// Bound by the rank at start; one thread reads it.
class CommandSocket {
 public:
  // Binds, replacing a socket that an earlier process left. Throws
  // std::system_error.
  explicit CommandSocket(const std::string& path);
  // Closes and removes the socket.
  ~CommandSocket();
  CommandSocket(const CommandSocket&) = delete;
  CommandSocket& operator=(const CommandSocket&) = delete;

  // For poll(2).
  int fd() const { return fd_; }

  // The next command; nullopt: none waits. Skips what is not a command. Never
  // blocks.
  std::optional<Command> Receive();

  // Waits up to `timeout_ms` (-1: for ever) for the next one.
  std::optional<Command> Wait(int timeout_ms);

  // Sends without ever blocking. False: nobody is bound there, or its queue is
  // full; it does no harm, as what holds is sent again.
  static bool Send(const std::string& path, const Command& command);

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace epochd::link
