// SPDX-License-Identifier: Apache-2.0
//
// What png.cc and jpeg.cc offer to image.cc. A session holds one image's
// decoder: constructed on bytes, it has read the header and checked its sizes
// against `max_pixels` and against what so many bytes can hold; Decode() is
// called at most once. Constructor and Decode() throw Error(kBadSpec).
//
// The C libraries leave by longjmp. Each call into them is made by a function
// without C++ objects, which reports by its result; throwing is done above.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "worker/engine/data/image/image.h"
#include "worker/engine/data/image/plane_writer.h"

namespace epochd::engine {

class ImageCodec {
 public:
  virtual ~ImageCodec() = default;
  virtual int64_t height() const = 0;
  virtual int64_t width() const = 0;
  virtual PixelFormat format() const = 0;
  // EXIF orientation, 1 to 8; 1 when there is none.
  virtual int orientation() const = 0;
  // Rows up to writer.end_row().
  virtual void Decode(PlaneWriter& writer) = 0;
};

bool IsPng(std::string_view bytes);
bool IsJpeg(std::string_view bytes);
// `bytes` and `path` outlive the codec. `wants_alpha`: transparency of a
// palette or of a key colour becomes an alpha channel.
std::unique_ptr<ImageCodec> OpenPng(std::string_view bytes,
                                    const std::string& path, int64_t max_pixels,
                                    bool wants_alpha);
std::unique_ptr<ImageCodec> OpenJpeg(std::string_view bytes,
                                     const std::string& path,
                                     int64_t max_pixels);

// Throws when height * width is 0 or over `max_pixels`. `kind`: of the file.
void CheckImageSize(const char* kind, const std::string& path, uint64_t offset,
                    int64_t height, int64_t width, int64_t max_pixels);

}  // namespace epochd::engine
