// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/image.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "worker/engine/core/error.h"
#include "worker/engine/data/image/codec.h"
#include "worker/engine/data/image/exif.h"
#include "worker/engine/data/refuse_file.h"

namespace epochd::engine {
namespace {

std::unique_ptr<ImageCodec> Open(std::string_view bytes,
                                 const std::string& path,
                                 const DecodeOptions& options) {
  if (IsPng(bytes)) {
    const bool wants_alpha = options.mode == ImageMode::kRgba ||
                             options.mode == ImageMode::kUnchanged;
    return OpenPng(bytes, path, options.max_pixels, wants_alpha);
  }
  if (IsJpeg(bytes)) return OpenJpeg(bytes, path, options.max_pixels);
  RefuseFile("image file", path, 0,
             "is neither PNG nor JPEG, which are the formats read");
}

ImageInfo InfoOf(const ImageCodec& codec, const DecodeOptions& options) {
  ImageInfo info{codec.height(), codec.width(),
                 ChannelsIn(codec.format(), options.mode)};
  if (options.exif_orientation && OrientationSwapsSides(codec.orientation())) {
    std::swap(info.height, info.width);
  }
  return info;
}

at::Tensor DecodeStored(ImageCodec& codec, ImageMode mode,
                        const Window& window) {
  PlaneWriter writer(codec.format(), mode, window);
  codec.Decode(writer);
  return writer.Take();
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

}  // namespace

void CheckImageSize(const char* kind, const std::string& path, uint64_t offset,
                    int64_t height, int64_t width, int64_t max_pixels) {
  // Either side fits 32 bits, so the product fits.
  if (height < 1 || width < 1 || height * width > max_pixels) {
    RefuseFile(kind, path, offset,
               "says it has " + std::to_string(width) + "x" +
                   std::to_string(height) + " pixels; 1 to " +
                   std::to_string(max_pixels) + " pixels are accepted");
  }
}

ImageMode ParseImageMode(std::string_view name) {
  if (name == "grey") return ImageMode::kGrey;
  if (name == "rgb") return ImageMode::kRgb;
  if (name == "rgba") return ImageMode::kRgba;
  if (name == "unchanged") return ImageMode::kUnchanged;
  throw Error(ErrorKind::kBadSpec,
              "image mode is \"" + std::string(name) +
                  "\"; grey, rgb, rgba or unchanged is accepted");
}

FileContent ReadImageFile(const std::string& path) {
  const Descriptor file(path);
  struct stat status {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) {
    throw Error(ErrorKind::kBadSpec,
                "image file \"" + path + "\": " + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode) || status.st_size > kMaxImageFileBytes) {
    throw Error(ErrorKind::kBadSpec,
                "image file \"" + path + "\": is " +
                    (S_ISREG(status.st_mode)
                         ? std::to_string(status.st_size) + " bytes long"
                         : std::string("no regular file")) +
                    "; a file of at most " +
                    std::to_string(kMaxImageFileBytes) + " bytes is accepted");
  }
  FileContent content;
  content.size = static_cast<size_t>(status.st_size);
  content.data.reset(new uint8_t[content.size]);
  for (size_t done = 0; done < content.size;) {
    const ssize_t got =
        read(file.number(), content.data.get() + done, content.size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      RefuseFile("image file", path, done,
                 got < 0 ? std::strerror(errno)
                         : "the file became shorter while it was read",
                 ErrorKind::kInfrastructure);
    }
    done += static_cast<size_t>(got);
  }
  return content;
}

ImageInfo InspectImage(std::string_view bytes, const std::string& path,
                       const DecodeOptions& options) {
  return InfoOf(*Open(bytes, path, options), options);
}

at::Tensor DecodeImage(std::string_view bytes, const std::string& path,
                       const DecodeOptions& options) {
  const std::unique_ptr<ImageCodec> codec = Open(bytes, path, options);
  at::Tensor image = DecodeStored(*codec, options.mode,
                                  {0, 0, codec->height(), codec->width()});
  if (!options.exif_orientation) return image;
  return Orient(image, codec->orientation());
}

at::Tensor DecodeWindow(std::string_view bytes, const std::string& path,
                        const Window& window, const DecodeOptions& options) {
  const std::unique_ptr<ImageCodec> codec = Open(bytes, path, options);
  const ImageInfo info = InfoOf(*codec, options);
  if (window.top < 0 || window.left < 0 || window.height < 1 ||
      window.width < 1 || window.top > info.height - window.height ||
      window.left > info.width - window.width) {
    throw Error(ErrorKind::kBadSpec,
                "image file \"" + path + "\": the window " +
                    std::to_string(window.width) + "x" +
                    std::to_string(window.height) + " at (" +
                    std::to_string(window.left) + ", " +
                    std::to_string(window.top) + ") is not inside its " +
                    std::to_string(info.width) + "x" +
                    std::to_string(info.height) + " pixels");
  }
  if (!options.exif_orientation || codec->orientation() == 1) {
    return DecodeStored(*codec, options.mode, window);
  }
  const at::Tensor stored = DecodeStored(
      *codec, options.mode, {0, 0, codec->height(), codec->width()});
  return Orient(stored, codec->orientation())
      .slice(1, window.top, window.top + window.height)
      .slice(2, window.left, window.left + window.width)
      .contiguous();
}

}  // namespace epochd::engine
