// SPDX-License-Identifier: Apache-2.0
//
// Broken, truncated, huge and hostile files: each is refused by an Error that
// names file and byte.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <regex>
#include <vector>

#include "tests/worker/engine/data/image/recorded.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/image/image.h"

namespace epochd::engine {
namespace {

using std::string_literals::operator""s;

std::string BigEndian(uint32_t number) {
  std::string bytes(4, '\0');
  for (int i = 0; i < 4; ++i) {
    bytes[i] = static_cast<char>(number >> (24 - 8 * i));
  }
  return bytes;
}

std::string Chunk(const std::string& name, const std::string& data) {
  const std::string body = name + data;
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                          static_cast<uInt>(body.size()));
  return BigEndian(static_cast<uint32_t>(data.size())) + body +
         BigEndian(static_cast<uint32_t>(crc));
}

std::string Compressed(const std::string& data) {
  uLongf size = compressBound(data.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size,
           reinterpret_cast<const Bytef*>(data.data()), data.size());
  out.resize(size);
  return out;
}

std::string Header(uint32_t width, uint32_t height, char depth = 8,
                   char colour = 2, char interlace = 0) {
  return "\x89PNG\r\n\x1a\n" +
         Chunk("IHDR", BigEndian(width) + BigEndian(height) + depth + colour +
                           '\0' + '\0' + interlace);
}

std::string Png(uint32_t width, uint32_t height, const std::string& rows) {
  return Header(width, height) + Chunk("IDAT", Compressed(rows)) +
         Chunk("IEND", "");
}

// What decoding says, which must be an Error of the right form.
std::string Refusal(const std::string& bytes, const std::string& kind) {
  const std::string error = ErrorOf([&] { DecodeImage(bytes, "x/y.img"); });
  static const std::regex form(
      "(PNG|JPEG|image) file \"x/y.img\": byte [0-9]+: .+");
  EXPECT_TRUE(std::regex_match(error, form)) << error;
  EXPECT_EQ(error.substr(0, kind.size()), kind) << error;
  return error;
}

TEST(BrokenImages, OtherFormatsAreNamedAsSuch) {
  for (const std::string& bytes :
       {""s, "\x89"s, "GIF89a"s, "\x89PNG\r\n\x1a"s, "\xff\xd8"s, "II*\0"s}) {
    Refusal(bytes, "image");
  }
}

TEST(BrokenImages, EveryTruncationIsRefused) {
  for (const char* name :
       {"rgb.png", "palette.png", "rgb_interlaced.png", "rgb_420.jpg",
        "rgb_progressive.jpg", "grey.jpg", "rgb_restart.jpg", "cmyk.jpg"}) {
    const std::string bytes = ReadBytes(GoldenPath("images/"s + name));
    // The last 12 bytes of a PNG are IEND; of a JPEG the last 2 are EOI.
    for (size_t n = 0; n < bytes.size(); n += n < 64 ? 1 : 7) {
      const std::string error =
          ErrorOf([&] { DecodeImage(bytes.substr(0, n), name); });
      EXPECT_NE(error.find(name), std::string::npos) << name << " at " << n;
    }
    for (size_t n = bytes.size() - 2; n < bytes.size(); ++n) {
      EXPECT_NE(ErrorOf([&] { DecodeImage(bytes.substr(0, n), name); }), "")
          << name << " at " << n;
    }
  }
}

TEST(BrokenImages, AnyChangedByteOfAPngIsSeen) {
  const std::string bytes = ReadBytes(GoldenPath("images/rgb.png"));
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] ^= 0x10;
    EXPECT_NE(ErrorOf([&] { DecodeImage(changed, "rgb.png"); }), "") << at;
  }
}

TEST(BrokenImages, HugeClaimsAreRefusedBeforeMemoryIsTaken) {
  // 100000 x 100000 in a file of 100 bytes.
  EXPECT_NE(Refusal(Png(100'000, 100'000, "abc"), "PNG").find("100000x100000"),
            std::string::npos);
  Refusal(Header(0x7fffffff, 0x7fffffff), "PNG");
  Refusal(Header(0xffffffff, 1), "PNG");
  Refusal(Header(0, 5), "PNG");
  // Below the limit of pixels, but not in so few bytes.
  const std::string small = Refusal(Png(13'000, 13'000, "abc"), "PNG");
  EXPECT_NE(small.find("so short a file"), std::string::npos) << small;

  std::string jpeg = ReadBytes(GoldenPath("images/rgb_420.jpg"));
  const size_t frame = jpeg.find("\xff\xc0"s);
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xfd\xe8\xfd\xe8"s);
  EXPECT_NE(Refusal(jpeg, "JPEG").find("65000x65000"), std::string::npos);
  jpeg.replace(frame + 5, 4, "\x30\0\x30\0"s);
  EXPECT_NE(Refusal(jpeg, "JPEG").find("so short a file"), std::string::npos);
}

TEST(BrokenImages, TheLimitOfPixelsIsTheCallers) {
  const std::string bytes = ReadBytes(GoldenPath("images/rgb.png"));
  const DecodeOptions enough{.max_pixels = 19 * 23};
  EXPECT_EQ(DecodeImage(bytes, "rgb.png", enough).size(1), 19);
  const DecodeOptions one_less{.max_pixels = 19 * 23 - 1};
  const std::string error =
      ErrorOf([&] { DecodeImage(bytes, "rgb.png", one_less); });
  EXPECT_NE(error.find("436 pixels are accepted"), std::string::npos) << error;
}

TEST(BrokenImages, HostilePngs) {
  const std::string rows("\0abcabc\0abcabc", 14);
  ASSERT_EQ(DecodeImage(Png(2, 2, rows), "good").size(1), 2);
  Refusal(Png(2, 3, rows), "PNG");                     // too few rows
  Refusal(Png(2, 2, "\x09" + rows.substr(1)), "PNG");  // unknown filter
  Refusal(Header(2, 2, 8, 5), "PNG");                  // unknown colour type
  Refusal(Header(2, 2, 3, 2), "PNG");                  // unknown depth
  Refusal(Header(2, 2, 8, 3) + Chunk("IDAT", Compressed("\0ab\0ab"s)) +
              Chunk("IEND", ""),
          "PNG");  // palette image without palette
  Refusal(Header(2, 2) + Chunk("IEND", ""), "PNG");  // no pixels
  Refusal(Header(2, 2) + BigEndian(0x7fffffff) + "IDAT", "PNG");
  Refusal(Header(2, 2) + BigEndian(0xffffffff) + "IDAT" + rows, "PNG");
  Refusal(Header(2, 2) + Chunk("XYZW", "critical"), "PNG");
  // More rows than the header tells of, and bytes behind the data.
  Refusal(Png(2, 2, rows + rows), "PNG");
  std::string stream = Compressed(rows);
  stream[stream.size() - 1] ^= 1;  // its checksum
  Refusal(Header(2, 2) + Chunk("IDAT", stream) + Chunk("IEND", ""), "PNG");
}

TEST(BrokenImages, TextThatInflatesHugelyIsNotRead) {
  // 64 MiB of zeros as a comment, 64 KiB of it on disk.
  const std::string bomb = Compressed(std::string(64 << 20, '\0'));
  const std::string rows("\0abcabc\0abcabc", 14);
  const std::string png = Header(2, 2) + Chunk("zTXt", "Comment\0\0"s + bomb) +
                          Chunk("iCCP", "p\0\0"s + bomb) +
                          Chunk("IDAT", Compressed(rows)) + Chunk("IEND", "");
  EXPECT_EQ(DecodeImage(png, "bomb").size(1), 2);
}

TEST(BrokenImages, HostileJpegs) {
  const std::string good = ReadBytes(GoldenPath("images/rgb_420.jpg"));
  const size_t frame = good.find("\xff\xc0"s);
  const auto with = [&](size_t at, char value) {
    std::string changed = good;
    changed[at] = value;
    return changed;
  };
  Refusal(with(frame + 4, 13), "JPEG");       // 13 bits of precision
  Refusal(with(frame + 9, 0), "JPEG");        // no component
  Refusal(with(frame + 11, '\xff'), "JPEG");  // sampling 15 x 15
  Refusal(with(frame + 11, 0), "JPEG");       // sampling 0 x 0
  Refusal(with(frame + 12, 7), "JPEG");       // a quantization table not there
  const size_t scan = good.find("\xff\xda"s);
  Refusal(with(scan + 6, '\x33'), "JPEG");  // Huffman tables not there
  Refusal(good.substr(0, scan) + "\xff\xd9", "JPEG");  // no scan
  Refusal("\xff\xd8\xff\xd9"s, "JPEG");
  Refusal("\xff\xd8\xff"s + std::string(1000, '\xff'), "JPEG");
  // Pixels that are made up: a marker in the middle of a scan.
  std::string cut = good;
  cut.replace(scan + 40, 2, "\xff\xd9");
  Refusal(cut, "JPEG");
}

TEST(BrokenImages, AJpegOfVeryManyScansIsRefused) {
  const std::string good = ReadBytes(GoldenPath("images/grey_progressive.jpg"));
  // Its last scan, again and again.
  const size_t scan = good.rfind("\xff\xda"s);
  ASSERT_NE(scan, std::string::npos);
  const std::string last = good.substr(scan, good.size() - 2 - scan);
  std::string bytes = good.substr(0, good.size() - 2);
  for (int i = 0; i < 300; ++i) bytes += last;
  const std::string error = Refusal(bytes + "\xff\xd9", "JPEG");
  // libjpeg warns of scans that refine what is refined, which ends it too.
  EXPECT_NE(error, "");
}

TEST(BrokenImages, FilesThatCannotBeReadAreNamed) {
  const TempFolder folder;
  for (const std::string& path :
       {folder.path() + "/none.png", folder.path(), "/dev/zero"s}) {
    const std::string error = ErrorOf([&] { ReadImageFile(path); });
    EXPECT_NE(error.find(path), std::string::npos) << error;
  }
  EXPECT_EQ(ReadImageFile(folder.Write("empty.png", "")).size, 0u);
}

}  // namespace
}  // namespace epochd::engine
