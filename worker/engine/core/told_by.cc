// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/told_by.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

namespace epochd::engine {

std::string ToldBy(const std::exception& error) {
  std::string text = error.what();
  if (const auto* torch = dynamic_cast<const c10::Error*>(&error)) {
    text = torch->what_without_backtrace();
  }
  constexpr std::string_view kAsked = "you tried to allocate ";
  if (const size_t at = text.find(kAsked); at != std::string::npos) {
    const size_t begin = at + kAsked.size();
    return "needs " + text.substr(begin, text.find(' ', begin) - begin) +
           " bytes of memory, more than there are";
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "needs more memory than there is";
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace epochd::engine
