// SPDX-License-Identifier: Apache-2.0
#include "worker/process/keeper/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

namespace epochd::keeper {
namespace {

struct Stat {
  char state = '?';
  pid_t parent = 0;
  pid_t session = 0;
  int64_t start_ticks = 0;
};

std::optional<Stat> ReadStat(pid_t pid) {
  const auto text = link::ReadFile("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return std::nullopt;
  // The name stands in parentheses and may hold anything, also ')'.
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text->substr(name_end + 1));
  Stat stat;
  fields >> stat.state >> stat.parent;
  std::string skipped;
  fields >> skipped >> stat.session;
  for (int field = 7; field < 22; ++field) fields >> skipped;
  fields >> stat.start_ticks;
  if (!fields) return std::nullopt;
  return stat;
}

std::vector<pid_t> AllPids() {
  std::vector<pid_t> pids;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return pids;
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = atoi(entry->d_name);
    if (pid > 0) pids.push_back(pid);
  }
  closedir(proc);
  return pids;
}

// Appends the children that the kernel lists for each thread of `pid`. False:
// this kernel has no such list.
bool AppendChildren(pid_t pid, std::vector<pid_t>& children) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  DIR* dir = opendir(tasks.c_str());
  if (dir == nullptr) return true;  // it is gone
  bool listed = false;
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] == '.') continue;
    const auto text = link::ReadFile(tasks + "/" + entry->d_name + "/children");
    if (!text) continue;
    listed = true;
    std::istringstream list(*text);
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  closedir(dir);
  return listed || access(tasks.c_str(), F_OK) != 0;
}

std::vector<pid_t> DescendantsByScan(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : AllPids()) {
    if (const auto stat = ReadStat(pid)) children.emplace(stat->parent, pid);
  }
  std::vector<pid_t> found{root};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto it = begin; it != end; ++it) found.push_back(it->second);
  }
  found.erase(found.begin());
  return found;
}

// Value in bytes of a line such as "RssAnon:   12 kB".
int64_t StatusBytes(const std::string& status, const char* key) {
  const size_t at = status.find(key);
  if (at == std::string::npos) return 0;
  return strtoll(status.c_str() + at + strlen(key), nullptr, 10) * 1024;
}

int64_t CounterAfter(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return 0;
  return strtoll(text.c_str() + at + key.size(), nullptr, 10);
}

}  // namespace

std::string BootId() {
  std::string id =
      link::ReadFile("/proc/sys/kernel/random/boot_id").value_or("");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

std::optional<int64_t> StartTicks(pid_t pid) {
  const auto stat = ReadStat(pid);
  if (!stat || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
  return stat->start_ticks;
}

link::KeeperRecord IdentityOf(pid_t pid) {
  return {.pid = pid,
          .start_ticks = StartTicks(pid).value_or(0),
          .boot_id = BootId()};
}

bool IsAlive(const link::KeeperRecord& record) {
  return record.boot_id == BootId() &&
         StartTicks(static_cast<pid_t>(record.pid)) == record.start_ticks;
}

int OpenPidfd(const link::KeeperRecord& record) {
  const int fd = static_cast<int>(
      syscall(SYS_pidfd_open, static_cast<pid_t>(record.pid), 0));
  if (fd < 0) return -1;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  // Asks only now: what the descriptor names can no longer change.
  if (IsAlive(record)) return fd;
  close(fd);
  return -1;
}

std::vector<pid_t> Descendants(pid_t root) {
  std::vector<pid_t> found{root};
  for (size_t i = 0; i < found.size(); ++i) {
    if (!AppendChildren(found[i], found)) return DescendantsByScan(root);
  }
  found.erase(found.begin());
  return found;
}

int64_t ResidentBytes(const std::vector<pid_t>& pids) {
  int64_t total = 0;
  for (const pid_t pid : pids) {
    const auto status =
        link::ReadFile("/proc/" + std::to_string(pid) + "/status");
    if (!status) continue;
    total +=
        StatusBytes(*status, "RssAnon:") + StatusBytes(*status, "RssShmem:");
  }
  return total;
}

int64_t OomKills() {
  const auto groups = link::ReadFile("/proc/self/cgroup");
  if (!groups) return 0;
  std::istringstream lines(*groups);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      if (const auto events =
              link::ReadFile("/sys/fs/cgroup" + path + "/memory.events")) {
        return CounterAfter(*events, "oom_kill ");
      }
    } else if (controllers.find("memory") != std::string::npos) {
      if (const auto events = link::ReadFile("/sys/fs/cgroup/memory" + path +
                                             "/memory.oom_control")) {
        return CounterAfter(*events, "oom_kill ");
      }
    }
  }
  return 0;
}

int KillStrays(const link::KeeperRecord& keeper, const std::string& rank_dir) {
  if (keeper.boot_id != BootId()) return 0;
  const std::string mark = "EPOCHD_EVENTS=" + link::EventsPath(rank_dir);
  const auto session = static_cast<pid_t>(keeper.pid);
  // A leader that is not our keeper: the number was given out again.
  const auto leader = StartTicks(session);
  const bool session_is_ours = !leader || *leader == keeper.start_ticks;
  int found = 0;
  for (const pid_t pid : AllPids()) {
    if (pid == getpid()) continue;
    const auto stat = ReadStat(pid);
    if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
    if (stat->start_ticks < keeper.start_ticks) continue;
    bool ours = session_is_ours && stat->session == session;
    if (!ours) {
      const auto environment =
          link::ReadFile("/proc/" + std::to_string(pid) + "/environ");
      ours = environment &&
             ('\0' + *environment + '\0').find('\0' + mark + '\0') !=
                 std::string::npos;
    }
    if (!ours) continue;
    ++found;
    kill(pid, SIGKILL);
  }
  return found;
}

}  // namespace epochd::keeper
