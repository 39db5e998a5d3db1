// SPDX-License-Identifier: Apache-2.0
//
// Crops of PNG images per second:
//
//   image_bench decode FOLDER SIDE SECONDS            one thread, no loader
//   image_bench loader FOLDER SIDE SECONDS THREADS    through the loader, each
//                                                     image decoded each time
//   image_bench cache FOLDER SIDE SECONDS THREADS     the same with its cache,
//                                                     after the first epoch
//
// A crop is a square at a random place as float [3, SIDE, SIDE]; with SIDE 0 it
// is the whole image. Prints a line
// `RESULT {"crops_per_s": ..., "cpu_s_per_crop": ...}`. pillow_peer.py does the
// same in Python; run.py compares them.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "worker/engine/data/image/folders.h"
#include "worker/engine/data/loader.h"

namespace {

using epochd::engine::Batch;
using epochd::engine::Dataset;

constexpr int64_t kBatch = 16;
constexpr int64_t kRepeat = 32;

double Seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Tell(int64_t crops, double seconds, double cpu_seconds) {
  const auto count = static_cast<double>(crops);
  std::printf("RESULT {\"crops_per_s\": %.2f, \"cpu_s_per_crop\": %.8f}\n",
              count / seconds, cpu_seconds / count);
}

std::shared_ptr<Dataset> Crops(const std::string& folder, int64_t side,
                               int64_t cache_bytes) {
  epochd::engine::ImageDataOptions options;
  options.files = {.folder = folder, .include = {"*.png"}};
  if (side > 0) {
    options.patch = {.size = side,
                     .kind = epochd::engine::PatchKind::kRandom,
                     .repeat = kRepeat};
  }
  options.cache_bytes = cache_bytes;
  return LoadImageFiles(options);
}

void RunDecode(const Dataset& data, int64_t repeat, double limit) {
  int64_t crops = 0;
  const double start = Seconds();
  const double cpu_start = CpuSeconds();
  for (int64_t epoch = 0; Seconds() - start < limit; ++epoch) {
    for (int64_t i = 0; i < data.Size(); i += repeat, ++crops) {
      data.Get((i + epoch) % data.Size(), {0, epoch});
    }
  }
  Tell(crops, Seconds() - start, CpuSeconds() - cpu_start);
}

void RunLoader(std::shared_ptr<Dataset> data, double limit, int threads,
               int64_t first_epoch) {
  const auto loader =
      MakeLoader(std::move(data),
                 {.batch_size = kBatch, .shuffle = true, .threads = threads});
  Batch batch;
  int64_t epoch = 0;
  for (; epoch < first_epoch; ++epoch) {
    loader->StartEpoch(epoch, 0);
    while (loader->Next(batch)) {
    }
  }
  int64_t crops = 0;
  const double start = Seconds();
  const double cpu_start = CpuSeconds();
  for (; Seconds() - start < limit; ++epoch) {
    loader->StartEpoch(epoch, 0);
    while (loader->Next(batch) && Seconds() - start < limit) {
      crops += batch.Size();
    }
  }
  Tell(crops, Seconds() - start, CpuSeconds() - cpu_start);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "image_bench decode|loader|cache FOLDER SIDE SECONDS "
                 "[THREADS]\n");
    return 2;
  }
  at::set_num_threads(1);
  const std::string mode = argv[1];
  const std::string folder = argv[2];
  const int64_t side = std::atoll(argv[3]);
  const double limit = std::atof(argv[4]);
  const int threads = argc > 5 ? std::atoi(argv[5]) : 4;
  if (mode == "decode") {
    RunDecode(*Crops(folder, side, 0), side > 0 ? kRepeat : 1, limit);
  } else if (mode == "loader") {
    RunLoader(Crops(folder, side, 0), limit, threads, 0);
  } else {
    RunLoader(Crops(folder, side, int64_t{1} << 30), limit, threads, 1);
  }
  return 0;
}
