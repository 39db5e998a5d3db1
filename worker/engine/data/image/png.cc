// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "worker/engine/data/image/codec.h"
#include "worker/engine/data/image/exif.h"
#include "worker/engine/data/refuse_file.h"

namespace epochd::engine {
namespace {

constexpr const char* kPng = "PNG file";
constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr png_alloc_size_t kMaxChunkBytes = 8'000'000;
// Deflate makes at most this many bytes of one.
constexpr uint64_t kMaxDeflateRatio = 1032;

// Plain data: libpng's longjmp passes over nothing that has a destructor.
struct PngState {
  const uint8_t* data;
  size_t size;
  size_t offset;
  png_structp png;
  png_infop info;
  jmp_buf jump;
  char message[256];
};

void OnError(png_structp png, png_const_charp message) {
  auto* state = static_cast<PngState*>(png_get_error_ptr(png));
  std::strncpy(state->message, message, sizeof(state->message) - 1);
  longjmp(state->jump, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void OnRead(png_structp png, png_bytep out, size_t size) {
  auto* state = static_cast<PngState*>(png_get_io_ptr(png));
  if (size > state->size - state->offset) {
    state->offset = state->size;
    png_error(png, "the file ends early");
  }
  std::memcpy(out, state->data + state->offset, size);
  state->offset += size;
}

// Each of the following is false after an error, which is in `message`.

bool ReadHeader(PngState* state) {
  if (setjmp(state->jump) != 0) return false;
  state->png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, state, OnError, OnWarning);
  if (state->png == nullptr) return false;
  state->info = png_create_info_struct(state->png);
  if (state->info == nullptr) return false;
  png_set_read_fn(state->png, state, OnRead);
  png_set_user_limits(state->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(state->png, kMaxChunkBytes);
  // What may be made of broken image data is not wanted.
  png_set_benign_errors(state->png, 0);
  // Only what pixels depend on, and the orientation, is looked at.
  png_set_keep_unknown_chunks(state->png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(state->png, PNG_HANDLE_CHUNK_AS_DEFAULT,
                              reinterpret_cast<png_const_bytep>("eXIf"), 1);
  png_read_info(state->png, state->info);
  return true;
}

bool StartRows(PngState* state, bool wants_alpha) {
  if (setjmp(state->jump) != 0) return false;
  png_set_palette_to_rgb(state->png);
  png_set_expand_gray_1_2_4_to_8(state->png);
  if (wants_alpha) png_set_tRNS_to_alpha(state->png);
  png_set_strip_16(state->png);
  png_set_interlace_handling(state->png);
  png_read_update_info(state->png, state->info);
  return true;
}

bool ReadRow(PngState* state, uint8_t* row) {
  if (setjmp(state->jump) != 0) return false;
  png_read_row(state->png, row, nullptr);
  return true;
}

bool ReadAll(PngState* state, png_bytep* rows) {
  if (setjmp(state->jump) != 0) return false;
  png_read_image(state->png, rows);
  return true;
}

bool ReadEnd(PngState* state) {
  if (setjmp(state->jump) != 0) return false;
  png_read_end(state->png, nullptr);
  return true;
}

class PngCodec : public ImageCodec {
 public:
  PngCodec(std::string_view bytes, const std::string& path, int64_t max_pixels,
           bool wants_alpha)
      : path_(path) {
    state_.data = reinterpret_cast<const uint8_t*>(bytes.data());
    state_.size = bytes.size();
    try {
      Check(ReadHeader(&state_));
      CheckImageSize(kPng, path_, 16, height(), width(), max_pixels);
      CheckRoom();
      Check(StartRows(&state_, wants_alpha));
    } catch (...) {
      Destroy();
      throw;
    }
  }
  ~PngCodec() override { Destroy(); }

  int64_t height() const override {
    return png_get_image_height(state_.png, state_.info);
  }
  int64_t width() const override {
    return png_get_image_width(state_.png, state_.info);
  }
  PixelFormat format() const override {
    switch (png_get_channels(state_.png, state_.info)) {
      case 1:
        return PixelFormat::kGrey;
      case 2:
        return PixelFormat::kGreyAlpha;
      case 3:
        return PixelFormat::kRgb;
      default:
        return PixelFormat::kRgba;
    }
  }
  int orientation() const override {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(state_.png, state_.info, &size, &exif) == 0) return 1;
    return ExifOrientation({reinterpret_cast<const char*>(exif), size});
  }

  void Decode(PlaneWriter& writer) override {
    const size_t row_bytes = png_get_rowbytes(state_.png, state_.info);
    if (png_get_interlace_type(state_.png, state_.info) != PNG_INTERLACE_NONE) {
      DecodeInterlaced(writer, row_bytes);
      return;
    }
    std::vector<uint8_t> row(row_bytes);
    for (int64_t y = 0; y < writer.end_row(); ++y) {
      Check(ReadRow(&state_, row.data()));
      writer.Write(row.data(), y);
    }
    if (writer.end_row() == height()) Check(ReadEnd(&state_));
  }

 private:
  void DecodeInterlaced(PlaneWriter& writer, size_t row_bytes) {
    const size_t num_rows = static_cast<size_t>(height());
    std::vector<uint8_t> pixels(row_bytes * num_rows);
    std::vector<png_bytep> rows(num_rows);
    for (size_t y = 0; y < num_rows; ++y) rows[y] = &pixels[y * row_bytes];
    Check(ReadAll(&state_, rows.data()));
    Check(ReadEnd(&state_));
    for (size_t y = 0; y < num_rows; ++y) {
      writer.Write(rows[y], static_cast<int64_t>(y));
    }
  }

  // A few bytes may claim a large image; it is not allocated for them.
  void CheckRoom() const {
    const uint64_t needed =
        static_cast<uint64_t>(png_get_rowbytes(state_.png, state_.info)) *
        static_cast<uint64_t>(height());
    if (needed / kMaxDeflateRatio > state_.size) {
      RefuseFile(kPng, path_, state_.size,
                 "says it has " + std::to_string(width()) + "x" +
                     std::to_string(height()) +
                     " pixels, more than so short a file can hold");
    }
  }
  void Check(bool ok) const {
    if (ok) return;
    RefuseFile(kPng, path_, state_.offset,
               state_.message[0] == '\0' ? "out of memory" : state_.message);
  }
  void Destroy() {
    if (state_.png != nullptr) {
      png_destroy_read_struct(&state_.png, &state_.info, nullptr);
    }
  }

  const std::string path_;
  PngState state_{};
};

}  // namespace

bool IsPng(std::string_view bytes) {
  return bytes.substr(0, kSignature.size()) == kSignature;
}

std::unique_ptr<ImageCodec> OpenPng(std::string_view bytes,
                                    const std::string& path, int64_t max_pixels,
                                    bool wants_alpha) {
  return std::make_unique<PngCodec>(bytes, path, max_pixels, wants_alpha);
}

}  // namespace epochd::engine
