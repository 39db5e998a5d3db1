// SPDX-License-Identifier: Apache-2.0
// jpeglib.h needs FILE and size_t declared before it.
#include <cstddef>
#include <cstdio>
// A line between, as the order matters.
#include <jpeglib.h>
// jerror.h needs jpeglib.h.
#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "worker/engine/data/image/codec.h"
#include "worker/engine/data/image/exif.h"
#include "worker/engine/data/refuse_file.h"

namespace epochd::engine {
namespace {

constexpr const char* kJpeg = "JPEG file";
constexpr std::string_view kExifPrefix("Exif\0\0", 6);
// A progressive file of a few kilobytes may hold thousands of scans, each of
// which goes over all pixels.
constexpr int kMaxScans = 200;
// With Huffman codes a block of 8x8 takes at least one bit.
constexpr uint64_t kMaxPixelsPerByte = 8 * 64;

// Plain data: libjpeg's way out, longjmp, passes over nothing that has a
// destructor.
struct JpegState {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

JpegState* StateOf(j_common_ptr jpeg) {
  return static_cast<JpegState*>(jpeg->client_data);
}

void OnError(j_common_ptr jpeg) {
  JpegState* state = StateOf(jpeg);
  jpeg->err->format_message(jpeg, state->message);
  longjmp(state->jump, 1);
}

// Warnings mean that pixels were made up, but for those of harmless kinds.
void OnMessage(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
      return;
    default:
      OnError(jpeg);
  }
}

void OnProgress(j_common_ptr jpeg) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(jpeg);
  if (decoder->input_scan_number <= kMaxScans) return;
  JpegState* state = StateOf(jpeg);
  std::snprintf(state->message, sizeof(state->message),
                "has more than %d scans, the most accepted", kMaxScans);
  longjmp(state->jump, 1);
}

// Each of the following is false after an error, which is in `message`.

bool ReadHeader(JpegState* state, const uint8_t* data, size_t size) {
  state->jpeg.err = jpeg_std_error(&state->errors);
  state->errors.error_exit = OnError;
  state->errors.emit_message = OnMessage;
  state->jpeg.client_data = state;
  if (setjmp(state->jump) != 0) return false;
  jpeg_create_decompress(&state->jpeg);
  state->progress.progress_monitor = OnProgress;
  state->jpeg.progress = &state->progress;
  jpeg_save_markers(&state->jpeg, JPEG_APP0 + 1, 0xffff);
  jpeg_mem_src(&state->jpeg, data, size);
  jpeg_read_header(&state->jpeg, TRUE);
  return true;
}

bool StartRows(JpegState* state) {
  if (setjmp(state->jump) != 0) return false;
  jpeg_start_decompress(&state->jpeg);
  return true;
}

bool ReadRow(JpegState* state, uint8_t* row) {
  if (setjmp(state->jump) != 0) return false;
  jpeg_read_scanlines(&state->jpeg, &row, 1);
  return true;
}

bool ReadEnd(JpegState* state) {
  if (setjmp(state->jump) != 0) return false;
  jpeg_finish_decompress(&state->jpeg);
  return true;
}

class JpegCodec : public ImageCodec {
 public:
  JpegCodec(std::string_view bytes, const std::string& path, int64_t max_pixels)
      : path_(path), size_(bytes.size()) {
    try {
      Check(ReadHeader(&state_, reinterpret_cast<const uint8_t*>(bytes.data()),
                       bytes.size()));
      CheckImageSize(kJpeg, path_, Offset(), height(), width(), max_pixels);
      CheckRoom();
      ChooseColours();
      // Markers are gone once the last row was read.
      orientation_ = FindOrientation();
    } catch (...) {
      jpeg_destroy_decompress(&state_.jpeg);
      throw;
    }
  }
  ~JpegCodec() override { jpeg_destroy_decompress(&state_.jpeg); }

  int64_t height() const override { return state_.jpeg.image_height; }
  int64_t width() const override { return state_.jpeg.image_width; }
  PixelFormat format() const override {
    switch (state_.jpeg.out_color_space) {
      case JCS_GRAYSCALE:
        return PixelFormat::kGrey;
      case JCS_CMYK:
        return PixelFormat::kCmyk;
      default:
        return PixelFormat::kRgb;
    }
  }
  int orientation() const override { return orientation_; }

  void Decode(PlaneWriter& writer) override {
    Check(StartRows(&state_));
    std::vector<uint8_t> row(static_cast<size_t>(width()) *
                             BytesPerPixel(format()));
    for (int64_t y = 0; y < writer.end_row(); ++y) {
      Check(ReadRow(&state_, row.data()));
      writer.Write(row.data(), y);
    }
    if (writer.end_row() == height()) Check(ReadEnd(&state_));
  }

 private:
  int FindOrientation() const {
    for (jpeg_saved_marker_ptr marker = state_.jpeg.marker_list;
         marker != nullptr; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data),
                                  marker->data_length);
      if (data.substr(0, kExifPrefix.size()) == kExifPrefix) {
        return ExifOrientation(data.substr(kExifPrefix.size()));
      }
    }
    return 1;
  }
  uint64_t Offset() const {
    return state_.jpeg.src == nullptr
               ? 0
               : size_ - std::min(size_, state_.jpeg.src->bytes_in_buffer);
  }
  void ChooseColours() {
    switch (state_.jpeg.num_components) {
      case 1:
        state_.jpeg.out_color_space = JCS_GRAYSCALE;
        return;
      case 3:
        state_.jpeg.out_color_space = JCS_RGB;
        return;
      case 4:
        state_.jpeg.out_color_space = JCS_CMYK;
        return;
      default:
        RefuseFile(kJpeg, path_, Offset(),
                   "has " + std::to_string(state_.jpeg.num_components) +
                       " components; 1, 3 or 4 are accepted");
    }
  }
  // A few bytes may claim a large image; it is not allocated for them.
  void CheckRoom() const {
    const uint64_t pixels = static_cast<uint64_t>(height() * width());
    if (!state_.jpeg.arith_code && pixels / kMaxPixelsPerByte > size_) {
      RefuseFile(kJpeg, path_, size_,
                 "says it has " + std::to_string(width()) + "x" +
                     std::to_string(height()) +
                     " pixels, more than so short a file can hold");
    }
  }
  void Check(bool ok) const {
    if (!ok) RefuseFile(kJpeg, path_, Offset(), state_.message);
  }

  const std::string path_;
  const size_t size_;
  JpegState state_{};
  int orientation_ = 1;
};

}  // namespace

bool IsJpeg(std::string_view bytes) {
  return bytes.substr(0, 3) == "\xff\xd8\xff";
}

std::unique_ptr<ImageCodec> OpenJpeg(std::string_view bytes,
                                     const std::string& path,
                                     int64_t max_pixels) {
  return std::make_unique<JpegCodec>(bytes, path, max_pixels);
}

}  // namespace epochd::engine
