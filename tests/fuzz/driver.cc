// SPDX-License-Identifier: Apache-2.0
//
// main() for a fuzz target built without libFuzzer:
//
//   fuzz_NAME_test FOLDER_OR_FILE...
//
// Runs every file, then mutations of each drawn from fixed seeds, so that a
// failure comes again. A crash ends the program; before each mutation nothing
// is printed, so a handler names the file and number of the one that died. An
// input that makes the program grow by more than 512 MiB fails too.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "worker/engine/data/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using epochd::engine::Random;

constexpr int kMutations = 400;  // of each file
constexpr size_t kMaxInput = size_t{1} << 20;
constexpr long kMaxGrowthKib = 512 * 1024;

char g_running[512];

void SayWhatRan(int signal_number) {
  // Only calls that a handler may make.
  const ssize_t written = write(STDERR_FILENO, g_running, strlen(g_running));
  static_cast<void>(written);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

long PeakKib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void RunOne(const std::string& file, int mutation, const std::string& bytes) {
  std::snprintf(g_running, sizeof(g_running), "\nran: %s, mutation %d\n",
                file.c_str(), mutation);
  const long before = PeakKib();
  // A copy of the exact size: reading past it is then seen by sanitizers.
  const std::vector<uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
  if (PeakKib() - before > kMaxGrowthKib) {
    std::fprintf(stderr, "%s, mutation %d: %zu bytes took %ld KiB of memory\n",
                 file.c_str(), mutation, bytes.size(), PeakKib() - before);
    std::exit(1);
  }
}

// One to four changes of the kinds that break readers.
void Mutate(std::string& bytes, Random& random) {
  for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
    if (bytes.empty()) bytes.push_back('\0');
    // Half of the time near the front, where headers are.
    const size_t reach = random.Below(2) == 0
                             ? std::min<size_t>(bytes.size(), 64)
                             : bytes.size();
    const size_t at = random.Below(reach);
    switch (random.Below(7)) {
      case 0:
        bytes[at] ^= static_cast<char>(1 << random.Below(8));
        break;
      case 1:
        bytes[at] = static_cast<char>(random.Next());
        break;
      case 2:
        bytes.resize(random.Below(bytes.size() + 1));
        break;
      case 3:
        bytes.insert(at, 1 + random.Below(8), static_cast<char>(random.Next()));
        break;
      case 4:
        bytes.erase(at, 1 + random.Below(16));
        break;
      case 5: {  // a number that is extreme in either byte order
        static constexpr uint64_t kNumbers[] = {0,
                                                1,
                                                0x7f,
                                                0x80,
                                                0xff,
                                                0x7fff,
                                                0xffff,
                                                0x7fffffff,
                                                0x80000000,
                                                0xffffffff,
                                                0x7fffffffffffffff,
                                                0xffffffffffffffff,
                                                100000};
        const uint64_t number = kNumbers[random.Below(std::size(kNumbers))];
        const size_t width = size_t{1} << random.Below(4);
        const bool big_endian = random.Below(2) == 0;
        for (size_t i = 0; i < width && at + i < bytes.size(); ++i) {
          const size_t shift = 8 * (big_endian ? width - 1 - i : i);
          bytes[at + i] = static_cast<char>(number >> shift);
        }
        break;
      }
      default: {  // a part of it again elsewhere
        const size_t length =
            std::min<size_t>(1 + random.Below(64), bytes.size() - at);
        const std::string part = bytes.substr(at, length);
        bytes.insert(random.Below(bytes.size() + 1), part);
      }
    }
    if (bytes.size() > kMaxInput) bytes.resize(kMaxInput);
  }
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.push_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fprintf(stderr, "%s: no seeds; name files or folders of them\n",
                 argv[0]);
    return 2;
  }
  for (int signal_number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) {
    std::signal(signal_number, SayWhatRan);
  }
  RunOne("no bytes", 0, "");
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string bytes = Read(files[i]);
    RunOne(files[i], 0, bytes);
    for (int n = 1; n <= kMutations; ++n) {
      Random random({i, static_cast<uint64_t>(n)});
      std::string mutated = bytes;
      Mutate(mutated, random);
      RunOne(files[i], n, mutated);
    }
  }
  std::printf("%zu files, %d mutations of each\n", files.size(), kMutations);
  return 0;
}
