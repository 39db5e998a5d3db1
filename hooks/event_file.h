// SPDX-License-Identifier: Apache-2.0
//
// EventFile: a TensorBoard event file. Records of
//   length (8 bytes), crc of it (4), an Event message, crc of it (4)
// with masked CRC-32C, little endian. Messages are encoded here, since few
// fields are needed. Created at the first record; one thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace epochd::hooks {

class EventFile {
 public:
  // `folder` is created when needed; `suffix` tells files of one process
  // apart.
  explicit EventFile(std::string folder, std::string suffix = "")
      : folder_(std::move(folder)), suffix_(std::move(suffix)) {}

  // `time`: seconds since 1970. False: could not be written (disk full).
  bool AddScalars(double time, int64_t step,
                  const std::vector<std::pair<std::string, double>>& scalars);
  // A PNG picture.
  bool AddImage(double time, int64_t step, const std::string& tag,
                int64_t height, int64_t width, int64_t channels,
                const std::string& png);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  bool Open(double time);
  bool AddEvent(double time, int64_t step, int field, std::string_view payload);

  const std::string folder_;
  const std::string suffix_;
  std::unique_ptr<std::FILE, Close> file_;
};

// CRC-32C (Castagnoli) of the bytes.
uint32_t Crc32c(std::string_view bytes);

}  // namespace epochd::hooks
