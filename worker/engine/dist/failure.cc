// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/failure.h"

#include <exception>
#include <string>

namespace epochd::engine {

void NamingTheFirstFailure(Communicator& communicator,
                           const std::function<void()>& work) {
  try {
    work();
  } catch (const PeerError& error) {
    const std::string first = communicator.FirstFailure();
    if (first.empty()) throw;
    throw PeerError(std::string(error.what()) + "; the first to fail was " +
                    first);
  } catch (const std::exception& error) {
    const std::string message = error.what();
    communicator.TellFailure(message.substr(0, message.find('\n')));
    throw;
  }
}

}  // namespace epochd::engine
