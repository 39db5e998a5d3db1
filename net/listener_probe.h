// SPDX-License-Identifier: Apache-2.0
//
// Connects to our own gRPC listener again and again, since gRPC 1.51 can stop
// accepting for ever while the process looks alive (after EMFILE). A program
// whose listener is dead ends, so that its supervisor starts it anew.
//
// Owns one thread, joined by the destructor. Uses a plain socket and, on TLS,
// a handshake without any check: all that is asked is whether someone answers.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "net/address.h"

namespace epochd::net {

class ListenerProbe {
 public:
  struct Options {
    Address address = {};
    bool tls = false;
    absl::Duration interval = absl::Seconds(5);
    // Of one try.
    absl::Duration timeout = absl::Seconds(5);
    // Tries in a row that must fail.
    int num_failures = 3;
  };

  // Calls `on_dead` at most once, on the probe's thread.
  ListenerProbe(Options options, std::function<void(std::string)> on_dead);
  ~ListenerProbe();
  ListenerProbe(const ListenerProbe&) = delete;
  ListenerProbe& operator=(const ListenerProbe&) = delete;

 private:
  void Run();

  const Options options_;
  const std::function<void(std::string)> on_dead_;
  absl::Notification stop_;
  std::thread thread_;
};

}  // namespace epochd::net
