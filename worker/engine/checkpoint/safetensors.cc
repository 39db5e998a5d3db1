// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/safetensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/shape.h"
#include "worker/engine/data/mapped_file.h"
#include "worker/engine/data/random_access_file.h"
#include "worker/engine/data/refuse_file.h"
#include "worker/engine/data/widen_unsigned.h"

namespace epochd::engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as Python's
constexpr uint64_t kLengthBytes = 8;

struct DtypeName {
  at::ScalarType type;
  const char* name;
};
constexpr std::array<DtypeName, 10> kDtypes = {{{at::kDouble, "F64"},
                                                {at::kFloat, "F32"},
                                                {at::kHalf, "F16"},
                                                {at::kBFloat16, "BF16"},
                                                {at::kLong, "I64"},
                                                {at::kInt, "I32"},
                                                {at::kShort, "I16"},
                                                {at::kChar, "I8"},
                                                {at::kByte, "U8"},
                                                {at::kBool, "BOOL"}}};

// Types that are given as the next wider signed one.
constexpr std::array<DtypeName, 3> kUnsignedDtypes = {
    {{at::kShort, "U16"}, {at::kInt, "U32"}, {at::kLong, "U64"}}};

[[noreturn]] void RefuseTensors(const std::string& path, uint64_t byte,
                                const std::string& problem) {
  RefuseFile("safetensors file", path, byte, problem,
             ErrorKind::kInfrastructure);
}

// The byte of the file at which `text`, its header, has `name`, which is there
// at least once: the last time of them. Names with escapes may not be found.
uint64_t PlaceOf(const std::string& text, const std::string& name) {
  const size_t place = text.rfind(Json(name).dump());
  return kLengthBytes + (place == std::string::npos ? 0 : place);
}

Json ParseHeader(const std::string& path, const std::string& text) {
  // Keys seen in each open object: JSON allows none twice, parsers let it by.
  std::vector<std::set<std::string>> seen;
  std::string twice;
  auto check = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) seen.emplace_back();
    if (event == Json::parse_event_t::object_end) seen.pop_back();
    if (event == Json::parse_event_t::key &&
        !seen.back().insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json header;
  try {
    header = Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    RefuseTensors(path, kLengthBytes + std::max<size_t>(error.byte, 1) - 1,
                  "the header is no JSON: " + std::string(error.what()));
  } catch (const std::exception& error) {  // a number that is too large
    RefuseTensors(path, kLengthBytes,
                  "the header is no JSON: " + std::string(error.what()));
  }
  if (!header.is_object()) {
    RefuseTensors(path, kLengthBytes, "the header is no JSON object");
  }
  if (!twice.empty()) {
    RefuseTensors(path, PlaceOf(text, twice),
                  "\"" + twice + "\" is there twice");
  }
  return header;
}

struct Slot {
  std::string name;
  at::ScalarType type;
  bool is_unsigned = false;  // and `type` the signed type of its width
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// `text`: the header.
Slot ParseSlot(const std::string& path, const std::string& name,
               const Json& json, const std::string& text) {
  Slot slot;
  slot.name = name;
  try {
    const std::string dtype = json.at("dtype").get<std::string>();
    const auto is_it = [&](const DtypeName& each) {
      return each.name == dtype;
    };
    const DtypeName* known =
        std::find_if(kUnsignedDtypes.begin(), kUnsignedDtypes.end(), is_it);
    slot.is_unsigned = known != kUnsignedDtypes.end();
    if (!slot.is_unsigned) {
      known = std::find_if(kDtypes.begin(), kDtypes.end(), is_it);
      if (known == kDtypes.end()) {
        RefuseTensors(path, PlaceOf(text, name),
                      "\"" + name + "\" has type \"" + dtype +
                          "\"; F64, F32, F16, BF16, I64, I32, I16, I8, U64, "
                          "U32, U16, U8 and BOOL are accepted");
      }
    }
    slot.type = known->type;
    uint64_t bytes = c10::elementSize(slot.type);
    for (const Json& size : json.at("shape")) {
      if (!size.is_number_unsigned()) throw std::invalid_argument("shape");
      slot.shape.push_back(size.get<int64_t>());
      if (__builtin_mul_overflow(bytes, size.get<uint64_t>(), &bytes) ||
          bytes > uint64_t{std::numeric_limits<int64_t>::max()}) {
        throw std::invalid_argument("shape");
      }
    }
    if (!IsPossibleShape(slot.shape, c10::elementSize(slot.type))) {
      throw std::invalid_argument("shape");
    }
    const Json& offsets = json.at("data_offsets");
    if (offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      throw std::invalid_argument("data_offsets");
    }
    slot.begin = offsets[0].get<uint64_t>();
    slot.end = offsets[1].get<uint64_t>();
    if (slot.end < slot.begin || slot.end - slot.begin != bytes) {
      RefuseTensors(path, PlaceOf(text, name),
                    "\"" + name + "\" has data of another size than its shape");
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    RefuseTensors(path, PlaceOf(text, name),
                  "\"" + name + "\" is no {dtype, shape, data_offsets}");
  }
  return slot;
}

// Header and data, in order; `data` keeps alive what they point at.
struct Encoded {
  std::string length = std::string(8, '\0');
  std::string header;
  std::vector<at::Tensor> data;
  std::vector<std::string_view> Parts() const {
    std::vector<std::string_view> parts{length, header};
    for (const at::Tensor& tensor : data) {
      parts.emplace_back(static_cast<const char*>(tensor.const_data_ptr()),
                         tensor.nbytes());
    }
    return parts;
  }
};

Encoded Encode(const std::string& path, const std::vector<NamedTensor>& tensors,
               const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  Encoded encoded;
  uint64_t offset = 0;
  for (const NamedTensor& each : tensors) {
    at::Tensor tensor = each.tensor.detach().cpu().contiguous();
    auto known = std::find_if(kDtypes.begin(), kDtypes.end(),
                              [&](const DtypeName& dtype) {
                                return dtype.type == tensor.scalar_type();
                              });
    if (known == kDtypes.end()) {
      throw Error(ErrorKind::kInfrastructure,
                  "\"" + path + "\": \"" + each.name +
                      "\" has a type that has no name");
    }
    if (header.contains(each.name)) {
      throw Error(ErrorKind::kInfrastructure,
                  "\"" + path + "\": \"" + each.name + "\" is there twice");
    }
    header[each.name] = {{"dtype", known->name},
                         {"shape", tensor.sizes().vec()},
                         {"data_offsets", {offset, offset + tensor.nbytes()}}};
    offset += tensor.nbytes();
    encoded.data.push_back(std::move(tensor));
  }
  encoded.header = header.dump();
  encoded.header.append((8 - encoded.header.size() % 8) % 8, ' ');
  const uint64_t size = encoded.header.size();
  for (int i = 0; i < 8; ++i) {
    encoded.length[i] = static_cast<char>((size >> (8 * i)) & 0xff);
  }
  return encoded;
}

// The tensors of a file of `num_bytes`, of which `read(offset, out)` gives
// parts, and `make(offset, shape, type)` tensors, that lie within it.
template <class Read, class Make>
std::vector<NamedTensor> ReadTensors(const std::string& path,
                                     uint64_t num_bytes, Read read, Make make) {
  if (num_bytes < kLengthBytes) {
    RefuseTensors(path, num_bytes, "ends before its header");
  }
  std::array<uint8_t, 8> prefix;
  read(0, std::span<uint8_t>(prefix));
  // A zip archive, as torch.save writes, or a pickle, as it did before.
  if ((prefix[0] == 'P' && prefix[1] == 'K') ||
      (prefix[0] == 0x80 && prefix[1] <= 5 && prefix[7] != 0)) {
    RefuseTensors(path, 0,
                  "no safetensors file, but one of torch.save or alike; "
                  "safetensors.torch.save_file writes what is read");
  }
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i) length |= uint64_t{prefix[i]} << (8 * i);
  if (length > kMaxHeaderBytes || length > num_bytes - kLengthBytes) {
    RefuseTensors(path, 0,
                  "a header of " + std::to_string(length) +
                      " bytes; at most 100 MB, and no more than the file, are "
                      "accepted");
  }
  std::string text(length, '\0');
  read(kLengthBytes, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
  const Json header = ParseHeader(path, text);
  std::vector<Slot> slots;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") continue;
    slots.push_back(ParseSlot(path, name, json, text));
  }
  std::stable_sort(
      slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
      });
  const uint64_t begin = kLengthBytes + length;  // of the data
  const uint64_t data_size = num_bytes - begin;
  uint64_t expected = 0;
  for (const Slot& slot : slots) {
    if (slot.begin != expected) {
      RefuseTensors(path, PlaceOf(text, slot.name),
                    "\"" + slot.name + "\" begins at " +
                        std::to_string(slot.begin) + " of the data, not at " +
                        std::to_string(expected) +
                        ", where the one before it ends");
    }
    expected = slot.end;
  }
  if (expected != data_size) {
    RefuseTensors(path, begin + std::min(expected, data_size),
                  "has " + std::to_string(data_size) +
                      " bytes of data; the header tells of " +
                      std::to_string(expected));
  }
  std::vector<NamedTensor> tensors;
  for (const Slot& slot : slots) {
    at::Tensor tensor = make(begin + slot.begin, slot.shape, slot.type);
    if (slot.is_unsigned) tensor = WidenUnsigned(tensor);
    if (!tensor.defined()) {
      RefuseTensors(path, begin + slot.begin,
                    "\"" + slot.name +
                        "\" has values of type U64 that are not below 2^63");
    }
    tensors.push_back({slot.name, std::move(tensor)});
  }
  return tensors;
}

// Makes tensors in memory of their own.
template <class Read>
auto MakeBy(Read read) {
  return [read](uint64_t offset, const std::vector<int64_t>& shape,
                at::ScalarType type) {
    at::Tensor tensor = at::empty(shape, type);
    const std::span<uint8_t> out(
        static_cast<uint8_t*>(tensor.mutable_data_ptr()), tensor.nbytes());
    if (!out.empty()) read(offset, out);
    return tensor;
  };
}

// Of a file on the disk; `make_of(file, read)` is what makes tensors.
template <class MakeOf>
std::vector<NamedTensor> ReadTensorFile(const std::string& path,
                                        MakeOf make_of) {
  try {
    const RandomAccessFile file(path);
    const auto read = [&](uint64_t offset, std::span<uint8_t> out) {
      file.ReadBulk(static_cast<int64_t>(offset), out);
    };
    return ReadTensors(path, static_cast<uint64_t>(file.num_bytes()), read,
                       make_of(file, read));
  } catch (const Error& error) {
    throw Error(ErrorKind::kInfrastructure, error.what());
  }
}

}  // namespace

FileSummary WriteSafetensors(
    const std::string& path, const std::vector<NamedTensor>& tensors,
    const std::map<std::string, std::string>& metadata) {
  return WriteDurable(path, Encode(path, tensors, metadata).Parts());
}

std::string PackTensors(const std::vector<NamedTensor>& tensors) {
  std::string packed;
  const Encoded encoded = Encode("tensors", tensors, {});
  for (std::string_view part : encoded.Parts()) packed += part;
  return packed;
}

std::vector<NamedTensor> ReadSafetensors(const std::string& path) {
  return ReadTensorFile(
      path, [](const auto& /*file*/, auto read) { return MakeBy(read); });
}

std::vector<NamedTensor> MapSafetensors(const std::string& path) {
  return ReadTensorFile(path, [](const auto& file, auto /*read*/) {
    return [tensors = FileTensors(file)](uint64_t offset,
                                         const std::vector<int64_t>& shape,
                                         at::ScalarType type) mutable {
      return tensors.At(static_cast<int64_t>(offset), shape, type);
    };
  });
}

std::vector<NamedTensor> UnpackTensors(const std::string& path,
                                       std::string_view file) {
  const auto read = [&](uint64_t offset, std::span<uint8_t> out) {
    std::memcpy(out.data(), file.data() + offset, out.size());
  };
  return ReadTensors(path, file.size(), read, MakeBy(read));
}

}  // namespace epochd::engine
