// SPDX-License-Identifier: Apache-2.0
#include "hooks/prediction_file.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "worker/engine/core/error.h"

namespace epochd::hooks {
namespace {

constexpr size_t kCopyBytes = 1 << 20;

// What numpy calls a type; little endian.
const char* NumpyType(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return "<f8";
    case at::kFloat:
      return "<f4";
    case at::kHalf:
      return "<f2";
    case at::kLong:
      return "<i8";
    case at::kInt:
      return "<i4";
    case at::kByte:
      return "|u1";
    case at::kBool:
      return "|b1";
    default:
      return nullptr;
  }
}

const char* SafetensorsType(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return "F64";
    case at::kFloat:
      return "F32";
    case at::kHalf:
      return "F16";
    case at::kLong:
      return "I64";
    case at::kInt:
      return "I32";
    case at::kByte:
      return "U8";
    default:
      return "BOOL";
  }
}

// A type that both formats have: bfloat16 and rarer ones become float.
at::Tensor Writable(const at::Tensor& tensor) {
  at::Tensor values = tensor.detach().to(at::kCPU);
  if (NumpyType(values.scalar_type()) == nullptr)
    values = values.to(at::kFloat);
  return values.contiguous();
}

std::vector<int64_t> SampleShape(const at::Tensor& tensor) {
  const at::IntArrayRef sizes = tensor.sizes();
  return std::vector<int64_t>(sizes.begin() + 1, sizes.end());
}

// A field's name as part of a file's.
std::string FileName(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

PredictionFile::~PredictionFile() {
  for (const Field& field : fields_) {
    if (field.fd >= 0) close(field.fd);
  }
  if (predicted_.fd >= 0) close(predicted_.fd);
}

void PredictionFile::Fail(const std::string& path) {
  throw engine::Error(
      engine::ErrorKind::kInfrastructure,
      "\"" + path + "\": cannot write predictions: " + std::strerror(errno));
}

void PredictionFile::OpenRows(Field& field) {
  field.fd = open(field.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (field.fd < 0) Fail(field.path);
}

void PredictionFile::Open(const engine::Batch& outputs) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  for (const auto& [name, tensor] : outputs) {
    const at::Tensor values = Writable(tensor);
    Field field{.name = name,
                .type = values.scalar_type(),
                .shape = SampleShape(values),
                .path = folder_ + "/" + FileName(name) + ".rows"};
    field.row_bytes = static_cast<int64_t>(values.element_size());
    for (int64_t size : field.shape) field.row_bytes *= size;
    OpenRows(field);
    fields_.push_back(std::move(field));
  }
  predicted_.row_bytes = 1;
  predicted_.path = folder_ + "/.predicted.rows";
  OpenRows(predicted_);
}

void PredictionFile::WriteRows(const Field& field, const char* bytes,
                               const std::vector<int64_t>& indices) {
  // Neighbours are written at once.
  for (size_t i = 0; i < indices.size();) {
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) {
      ++end;
    }
    const auto size = static_cast<size_t>(field.row_bytes) * (end - i);
    const ssize_t written =
        pwrite(field.fd, bytes + static_cast<size_t>(field.row_bytes) * i, size,
               indices[i] * field.row_bytes);
    if (written != static_cast<ssize_t>(size)) Fail(field.path);
    i = end;
  }
}

void PredictionFile::Add(const engine::Batch& outputs,
                         const std::vector<int64_t>& indices) {
  if (fields_.empty()) Open(outputs);
  for (Field& field : fields_) {
    const at::Tensor values = Writable(outputs.At(field.name));
    if (values.scalar_type() != field.type ||
        SampleShape(values) != field.shape ||
        values.size(0) != static_cast<int64_t>(indices.size())) {
      throw engine::Error(engine::ErrorKind::kBadSpec,
                          "predictions: field \"" + field.name +
                              "\" changed to " + c10::str(values.sizes()) +
                              " of " + c10::str(values.scalar_type()) +
                              "; every batch must be alike");
    }
    WriteRows(field, static_cast<const char*>(values.const_data_ptr()),
              indices);
  }
  WriteRows(predicted_, std::string(indices.size(), 1).data(), indices);
  for (int64_t index : indices) rows_ = std::max(rows_, index + 1);
}

void PredictionFile::Append(int to, const std::string& path, const void* bytes,
                            size_t size) {
  if (write(to, bytes, size) != static_cast<ssize_t>(size)) Fail(path);
}

void PredictionFile::AppendRows(int to, const std::string& path,
                                const Field& field, const Runs& runs) {
  std::vector<char> buffer(kCopyBytes);
  for (const auto& [first, past] : runs) {
    int64_t at = first * field.row_bytes;
    for (int64_t left = past * field.row_bytes - at; left > 0;) {
      const ssize_t got =
          pread(field.fd, buffer.data(),
                std::min(buffer.size(), static_cast<size_t>(left)), at);
      if (got <= 0) Fail(field.path);
      Append(to, path, buffer.data(), static_cast<size_t>(got));
      at += got;
      left -= got;
    }
  }
}

PredictionFile::Runs PredictionFile::FindRuns(int64_t rows) const {
  Runs runs;
  std::vector<char> buffer(kCopyBytes);
  for (int64_t row = 0; row < rows;) {
    const ssize_t got =
        pread(predicted_.fd, buffer.data(),
              std::min(buffer.size(), static_cast<size_t>(rows - row)), row);
    if (got <= 0) Fail(predicted_.path);
    for (ssize_t i = 0; i < got; ++i, ++row) {
      if (buffer[static_cast<size_t>(i)] == 0) continue;
      if (runs.empty() || runs.back().second != row) runs.push_back({row, row});
      ++runs.back().second;
    }
  }
  return runs;
}

void PredictionFile::AddIndex(const Runs& runs, int64_t count) {
  Field field{.name = "sample_index",
              .type = at::kLong,
              .row_bytes = sizeof(int64_t),
              .path = folder_ + "/.sample_index.rows"};
  OpenRows(field);
  std::vector<int64_t> indices;
  indices.reserve(static_cast<size_t>(count));
  for (const auto& [first, past] : runs) {
    for (int64_t row = first; row < past; ++row) indices.push_back(row);
  }
  // Each at its own place, as the rows of other fields.
  WriteRows(field, reinterpret_cast<const char*>(indices.data()), indices);
  fields_.push_back(std::move(field));
}

void PredictionFile::Finish(int64_t rows) {
  if (fields_.empty()) return;
  const Runs runs = FindRuns(rows);
  int64_t count = 0;
  for (const auto& [first, past] : runs) count += past - first;
  if (count != rows && format_ != Format::kCsv) AddIndex(runs, count);
  switch (format_) {
    case Format::kNpy:
      WriteNpy(runs, count);
      break;
    case Format::kSafetensors:
      WriteSafetensors(runs, count);
      break;
    case Format::kCsv:
      WriteCsv(runs);
      break;
  }
  const auto remove = [](Field& field) {
    close(field.fd);
    field.fd = -1;
    std::error_code error;
    std::filesystem::remove(field.path, error);
  };
  for (Field& field : fields_) remove(field);
  remove(predicted_);
}

namespace {

// A file that is whole once it has its name.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)),
        fd_(open((path_ + ".new").c_str(),
                 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {}
  ~NewFile() {
    if (fd_ >= 0) close(fd_);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  int fd() const { return fd_; }
  bool Commit() {
    return fsync(fd_) == 0 &&
           rename((path_ + ".new").c_str(), path_.c_str()) == 0;
  }

 private:
  const std::string path_;
  const int fd_;
};

}  // namespace

void PredictionFile::WriteNpy(const Runs& runs, int64_t count) {
  for (const Field& field : fields_) {
    const std::string path = folder_ + "/" + FileName(field.name) + ".npy";
    std::string shape = std::to_string(count) + ",";
    for (int64_t size : field.shape) shape += " " + std::to_string(size) + ",";
    std::string header = std::string("{'descr': '") + NumpyType(field.type) +
                         "', 'fortran_order': False, 'shape': (" + shape +
                         "), }";
    // Magic, version and length take 10 bytes; all of it a multiple of 64.
    header.append(63 - (10 + header.size()) % 64, ' ');
    header += '\n';
    std::string head("\x93NUMPY\x01\x00", 8);
    head += static_cast<char>(header.size() & 0xff);
    head += static_cast<char>(header.size() >> 8);
    head += header;
    NewFile file(path);
    if (file.fd() < 0) Fail(path);
    Append(file.fd(), path, head.data(), head.size());
    AppendRows(file.fd(), path, field, runs);
    if (!file.Commit()) Fail(path);
    files_.push_back(path);
  }
}

void PredictionFile::WriteSafetensors(const Runs& runs, int64_t count) {
  const std::string path = folder_ + "/predictions.safetensors";
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  int64_t offset = 0;
  for (const Field& field : fields_) {
    std::vector<int64_t> shape = field.shape;
    shape.insert(shape.begin(), count);
    const int64_t end = offset + count * field.row_bytes;
    header[field.name] = {{"dtype", SafetensorsType(field.type)},
                          {"shape", shape},
                          {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const auto length = static_cast<uint64_t>(text.size());
  NewFile file(path);
  if (file.fd() < 0) Fail(path);
  Append(file.fd(), path, &length, sizeof(length));
  Append(file.fd(), path, text.data(), text.size());
  for (const Field& field : fields_) {
    AppendRows(file.fd(), path, field, runs);
  }
  if (!file.Commit()) Fail(path);
  files_.push_back(path);
}

void PredictionFile::WriteCsv(const Runs& runs) {
  const std::string path = folder_ + "/predictions.csv";
  NewFile file(path);
  if (file.fd() < 0) Fail(path);
  std::string text = "index";
  for (const Field& field : fields_) {
    const int64_t columns =
        field.row_bytes / static_cast<int64_t>(at::elementSize(field.type));
    for (int64_t i = 0; i < columns; ++i) {
      text += "," + field.name +
              (field.shape.empty() ? "" : "." + std::to_string(i));
    }
  }
  text += '\n';
  std::vector<char> row;
  const auto write_row = [&](int64_t index) {
    text += std::to_string(index);
    for (const Field& field : fields_) {
      row.resize(static_cast<size_t>(field.row_bytes));
      if (pread(field.fd, row.data(), row.size(), index * field.row_bytes) !=
          static_cast<ssize_t>(row.size())) {
        Fail(field.path);
      }
      const int64_t columns =
          field.row_bytes / static_cast<int64_t>(at::elementSize(field.type));
      const at::Tensor values =
          at::from_blob(row.data(), {columns}, field.type);
      for (int64_t i = 0; i < columns; ++i) {
        char number[32];
        if (at::isFloatingType(field.type)) {
          std::snprintf(number, sizeof(number),
                        field.type == at::kDouble ? ",%.17g" : ",%.9g",
                        values[i].item<double>());
        } else {
          std::snprintf(number, sizeof(number), ",%lld",
                        static_cast<long long>(values[i].item<int64_t>()));
        }
        text += number;
      }
    }
    text += '\n';
    if (text.size() >= kCopyBytes) {
      Append(file.fd(), path, text.data(), text.size());
      text.clear();
    }
  };
  for (const auto& [first, past] : runs) {
    for (int64_t index = first; index < past; ++index) write_row(index);
  }
  Append(file.fd(), path, text.data(), text.size());
  if (!file.Commit()) Fail(path);
  files_.push_back(path);
}

}  // namespace epochd::hooks
