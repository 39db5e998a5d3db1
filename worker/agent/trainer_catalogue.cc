// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/trainer_catalogue.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "worker/link/attempt_folder.h"
#include "worker/process/spawn.h"

namespace epochd::agent {
namespace {

absl::StatusOr<TrainerCatalogue> Checked(std::string json,
                                         const std::string& source) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) {
    return absl::UnavailableError(
        absl::StrCat("catalogue of '", source, "': is not a JSON object"));
  }
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(json.data()), json.size(),
         digest);
  TrainerCatalogue catalogue;
  catalogue.sha256 = absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof digest));
  catalogue.json = std::move(json);
  return catalogue;
}

// Output of the trainer; fails as LoadTrainerCatalogue does.
absl::StatusOr<std::string> AskTrainer(const std::string& trainer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::UnavailableError(absl::StrCat("pipe: ", strerror(errno)));
  }
  const absl::StatusOr<pid_t> pid = process::Spawn(
      {.arguments = {trainer, "--catalogue"}, .stdout_fd = ends[1]});
  close(ends[1]);
  std::string output;
  char buffer[65536];
  ssize_t n = 0;
  while (pid.ok() && ((n = read(ends[0], buffer, sizeof buffer)) > 0 ||
                      (n < 0 && errno == EINTR))) {
    if (n > 0) output.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  if (!pid.ok()) return pid.status();
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::UnavailableError(
        absl::StrCat("trainer '", trainer,
                     "': --catalogue ended with wait status ", status));
  }
  return output;
}

}  // namespace

absl::StatusOr<TrainerCatalogue> LoadTrainerCatalogue(
    const std::string& trainer, const std::string& cache_dir) {
  struct stat file {};
  if (stat(trainer.c_str(), &file) != 0) {
    return absl::UnavailableError(
        absl::StrCat("trainer '", trainer, "': ", strerror(errno)));
  }
  // Another file, also one rebuilt in place, has another name here.
  const std::string cache =
      absl::StrCat(cache_dir, "/catalogue-", file.st_dev, "-", file.st_ino, "-",
                   file.st_size, "-", file.st_mtim.tv_sec, ".",
                   file.st_mtim.tv_nsec, ".json");
  if (std::optional<std::string> known =
          cache_dir.empty() ? std::nullopt : link::ReadFile(cache)) {
    absl::StatusOr<TrainerCatalogue> catalogue =
        Checked(std::move(*known), cache);
    if (catalogue.ok()) return catalogue;
  }
  absl::StatusOr<std::string> output = AskTrainer(trainer);
  if (!output.ok()) return output.status();
  absl::StatusOr<TrainerCatalogue> catalogue =
      Checked(std::move(*output), trainer);
  if (!catalogue.ok() || cache_dir.empty()) return catalogue;
  try {
    link::ReplaceFile(cache, catalogue->json, /*sync=*/false);
  } catch (const std::exception&) {
    // The next start asks again.
  }
  return catalogue;
}

absl::StatusOr<TrainerCatalogue> ReadCatalogueFile(const std::string& path) {
  std::optional<std::string> json = link::ReadFile(path);
  if (!json) {
    return absl::UnavailableError(
        absl::StrCat("catalogue '", path, "': ", strerror(errno)));
  }
  return Checked(std::move(*json), path);
}

}  // namespace epochd::agent
