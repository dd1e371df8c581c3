// SPDX-License-Identifier: MIT
#include "collect/session_door.hpp"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collect/signals.hpp"

namespace heapwright::collect {
namespace {

constexpr std::size_t key_bytes = 16;
constexpr std::size_t most_clients = 64;  // that have not asked yet

std::string make_key() {
  std::uint8_t bytes[key_bytes];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return "";
  constexpr char digits[] = "0123456789abcdef";
  std::string key;
  for (const std::uint8_t byte : bytes) {
    key += digits[byte >> 4];
    key += digits[byte & 15];
  }
  return key;
}

// -1: there can be none.
int listen_at(const sockaddr_un& address, socklen_t bytes) {
  const int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return -1;
  if (bind(file, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 && listen(file, SOMAXCONN) == 0) {
    return file;
  }
  close(file);
  return -1;
}

// At an abstract name that the kernel chooses.
int listen_anywhere(std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int file = listen_at(address, sizeof address.sun_family);
  if (file < 0) return -1;
  socklen_t bytes = sizeof address;
  getsockname(file, reinterpret_cast<sockaddr*>(&address), &bytes);
  name.assign(address.sun_path + 1, bytes - offsetof(sockaddr_un, sun_path) - 1);
  return file;
}

// In a new folder. Whoever knows its path may ask; the key decides.
int listen_in_folder(std::string& path) {
  char folder[] = "/tmp/heapwright-XXXXXX";
  if (mkdtemp(folder) == nullptr) return -1;
  path = std::string(folder) + "/door";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int file = listen_at(address, sizeof address);
  constexpr mode_t anyone_may_pass = 0711;
  constexpr mode_t anyone_may_ask = 0666;
  if (file >= 0 && chmod(path.c_str(), anyone_may_ask) == 0 && chmod(folder, anyone_may_pass) == 0) {
    return file;
  }
  if (file >= 0) close(file);
  unlink(path.c_str());
  rmdir(folder);
  path.clear();
  return -1;
}

void send_file(int client, int file) {
  char text[1] = {'s'};
  iovec part{text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  sendmsg(client, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

SessionDoor::SessionDoor(int session_file) : session_file_(session_file), key_(make_key()) {
  if (key_.empty()) return;
  stop_event_ = eventfd(0, EFD_CLOEXEC);
  if (stop_event_ < 0) return;
  sockets_ = {listen_anywhere(name_), listen_in_folder(path_)};
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { answer(); });
}

SessionDoor::~SessionDoor() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_event_, &one, sizeof one);
    thread_.join();
  }
  for (const int file : sockets_) {
    if (file >= 0) close(file);
  }
  for (const int file : clients_) close(file);
  if (stop_event_ >= 0) close(stop_event_);
  if (path_.empty()) return;
  unlink(path_.c_str());
  rmdir(path_.substr(0, path_.rfind('/')).c_str());
}

void SessionDoor::answer() {
  for (;;) {
    std::vector<pollfd> events = {{stop_event_, POLLIN, 0}};
    for (const int file : sockets_) events.push_back({file, POLLIN, 0});  // poll() ignores -1
    const std::size_t first_client = events.size();
    for (const int file : clients_) events.push_back({file, POLLIN, 0});
    if (poll(events.data(), events.size(), -1) < 0) continue;
    if (events[0].revents != 0) return;
    for (std::size_t index = first_client; index < events.size(); ++index) {
      if (events[index].revents != 0) serve(events[index].fd);
    }
    for (std::size_t index = 1; index < first_client; ++index) {
      if (events[index].revents != 0) admit(events[index].fd);
    }
  }
}

// One that does not ask keeps its place until there is no other.
void SessionDoor::admit(int socket) {
  const int client = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  if (clients_.size() == most_clients) {
    close(clients_.front());
    clients_.erase(clients_.begin());
  }
  clients_.push_back(client);
}

void SessionDoor::serve(int client) {
  char key[2 * key_bytes + 1];
  const ssize_t bytes = recv(client, key, sizeof key, MSG_DONTWAIT);
  if (bytes == static_cast<ssize_t>(key_.size()) && std::memcmp(key, key_.data(), key_.size()) == 0) {
    send_file(client, session_file_);
  }
  close(client);
  clients_.erase(std::find(clients_.begin(), clients_.end(), client));
}

}  // namespace heapwright::collect
