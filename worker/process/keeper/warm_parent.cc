// SPDX-License-Identifier: Apache-2.0
#include "worker/process/keeper/warm_parent.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "worker/process/keeper/keeper.h"

namespace epochd::keeper {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxMessage = 16384;

// One descriptor beside the bytes of a message.
union ControlBuffer {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

void Say(int fd, const Json& message) {
  const std::string text = message.dump();
  send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

int64_t NumberOr(const Json& json, const char* key, int64_t otherwise) {
  const auto it = json.find(key);
  return it != json.end() && it->is_number_integer() ? it->get<int64_t>()
                                                     : otherwise;
}

// False: the agent's end is closed. `request.listen_fd` is ours to close.
bool ReceiveRequest(int fd, int64_t& id, std::optional<RankRequest>& request) {
  request.reset();
  char data[kMaxMessage];
  iovec part{.iov_base = data, .iov_len = sizeof data};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t n = 0;
  do {
    n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  int listen_fd = -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    memcpy(&listen_fd, CMSG_DATA(header), sizeof listen_fd);
  }
  const Json json = Json::parse(data, data + n, nullptr, false);
  id = json.is_object() ? NumberOr(json, "id", 0) : 0;
  if (!json.is_object() || !json.contains("attempt_dir") ||
      !json.contains("rank") || !json.at("attempt_dir").is_string() ||
      !json.at("rank").is_number_integer()) {
    if (listen_fd >= 0) close(listen_fd);
    return true;
  }
  request = RankRequest{.attempt_dir = json.at("attempt_dir"),
                        .rank = json.at("rank"),
                        .listen_fd = listen_fd,
                        .warm = true};
  return true;
}

}  // namespace

int RunWarmParent(int socket_fd, const RankMain& rank_main) {
  prctl(PR_SET_NAME, "epochd-warm");
  Say(socket_fd, {{"ready", true}});
  int64_t id = 0;
  std::optional<RankRequest> request;
  while (ReceiveRequest(socket_fd, id, request)) {
    int error = EINVAL;
    if (request) {
      error = StartKeeper(*request, rank_main);
      if (request->listen_fd >= 0) close(request->listen_fd);
    }
    Say(socket_fd, {{"id", id}, {"errno", error}});
  }
  return 0;
}

bool SendRankRequest(int socket_fd, int64_t id, const RankRequest& request) {
  const std::string text = Json{
      {"id", id},
      {"attempt_dir", request.attempt_dir},
      {"rank", request.rank}}.dump();
  if (text.size() > kMaxMessage) {
    errno = EMSGSIZE;
    return false;
  }
  iovec part{.iov_base = const_cast<char*>(text.data()),
             .iov_len = text.size()};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (request.listen_fd >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &request.listen_fd, sizeof(int));
  }
  return sendmsg(socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(text.size());
}

std::optional<WarmReply> ReceiveWarmReply(int socket_fd, bool& is_open) {
  char message[512];
  ssize_t n = 0;
  do {
    n = recv(socket_fd, message, sizeof message, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return std::nullopt;
  is_open = n > 0;
  if (n <= 0) return std::nullopt;
  const Json json = Json::parse(message, message + n, nullptr, false);
  if (!json.is_object()) return WarmReply{.error = EPROTO};
  return WarmReply{.ready = json.contains("ready"),
                   .id = NumberOr(json, "id", 0),
                   .error = static_cast<int>(NumberOr(json, "errno", 0))};
}

}  // namespace epochd::keeper
