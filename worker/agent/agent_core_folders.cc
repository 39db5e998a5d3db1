// SPDX-License-Identifier: Apache-2.0
//
// Folders of attempts: what an earlier agent left is taken over, what is over
// and handed in is removed.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/agent/agent_core.h"
#include "worker/agent/work_folder.h"
#include "worker/link/attempt_folder.h"

namespace epochd::agent {
namespace {

namespace fs = std::filesystem;

// After this long a keeper that an earlier agent asked for has shown up.
constexpr absl::Duration kAdoptPatience = absl::Seconds(5);

std::string AttemptName(const link::AttemptSpec& spec) {
  return absl::StrCat("jobs/", spec.job, "/attempts/", spec.attempt);
}

}  // namespace

void AgentCore::Adopt(absl::Time now) {
  const std::string root = options_.work_dir + "/attempts";
  const std::string discarded = options_.work_dir + "/discarded";
  std::error_code error;
  fs::create_directories(root, error);
  // What an earlier agent did not come to delete. Numbers go on after it.
  fs::create_directories(discarded, error);
  for (const fs::directory_entry& entry :
       fs::directory_iterator(discarded, error)) {
    num_discarded_ = std::max<int64_t>(num_discarded_,
                                       atoll(entry.path().filename().c_str()));
    options_.remove_folder(entry.path().string());
  }
  std::vector<std::string> dirs;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    if (entry.path().filename() == kFolderId) continue;
    dirs.push_back(entry.path().string());
  }
  for (const std::string& dir : dirs) {
    if (!AdoptOne(dir, now)) {
      spdlog::warn("attempt folder '{}': never began, removed", dir);
      Discard(dir);
    }
  }
}

bool AgentCore::AdoptOne(const std::string& dir, absl::Time now) {
  const auto text = link::ReadFile(link::SpecPath(dir));
  if (!text) return false;
  auto attempt = std::make_unique<Attempt>();
  try {
    attempt->spec = link::FromJson(*text);
  } catch (const std::exception& error) {
    spdlog::warn("attempt folder '{}': {}", dir, error.what());
    return false;
  }
  attempt->name = AttemptName(attempt->spec);
  attempt->dir = dir;
  attempt->adopted = true;
  attempt->phase = Attempt::Phase::kStarting;
  attempt->start_deadline = now + kAdoptPatience;
  if (attempt->spec.self_fence_after > 0) {
    attempt->lease_end = now + absl::Seconds(attempt->spec.self_fence_after);
  }
  attempt->MakeRanks();
  for (Attempt::Rank& rank : attempt->ranks) rank.asked = true;
  spdlog::info("attempt {}: taken over", attempt->name);
  Look(*attempt, now);
  attempts_[attempt->name] = std::move(attempt);
  return true;
}

void AgentCore::RemoveForgotten() {
  if (!desired_known_) return;
  std::set<std::string> listed;
  for (const DesiredAttempt& desired : desired_.attempts) {
    listed.insert(desired.name);
  }
  std::erase_if(attempts_, [&](const auto& entry) {
    const Attempt& attempt = *entry.second;
    if (attempt.phase != Attempt::Phase::kEnded ||
        listed.count(attempt.name) > 0 ||
        !(attempt.refused || spool_.IsDrained(attempt.name))) {
      return false;
    }
    spool_.Remove(attempt.name);
    Discard(attempt.dir);
    return true;
  });
}

void AgentCore::Discard(const std::string& dir) {
  std::error_code error;
  if (!fs::exists(dir, error)) return;
  // Gone at once for us and for a later agent, however long deleting takes.
  const std::string target =
      absl::StrCat(options_.work_dir, "/discarded/", ++num_discarded_, "-",
                   fs::path(dir).filename().string());
  fs::rename(dir, target, error);
  if (error) {
    spdlog::warn("attempt folder '{}': cannot be removed: {}", dir,
                 error.message());
    return;
  }
  options_.remove_folder(target);
}

}  // namespace epochd::agent
