// SPDX-License-Identifier: MIT
#include "collect/session_door.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heapwright::collect {
namespace {

constexpr std::size_t key_bytes = 16;

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

// Bound to a name that the kernel chooses; -1 if there is none.
int bind_anywhere(std::string& name) {
  const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t bytes = sizeof address.sun_family;
  if (bind(file, reinterpret_cast<sockaddr*>(&address), bytes) == 0) {
    bytes = sizeof address;
    if (getsockname(file, reinterpret_cast<sockaddr*>(&address), &bytes) == 0) {
      name.assign(address.sun_path + 1, bytes - offsetof(sockaddr_un, sun_path) - 1);
      return file;
    }
  }
  close(file);
  return -1;
}

void send_file(int socket, const sockaddr_un& to, socklen_t to_bytes, int file) {
  char text[1] = {'s'};
  iovec part{text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
  msghdr message{};
  message.msg_name = const_cast<sockaddr_un*>(&to);
  message.msg_namelen = to_bytes;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  // MSG_DONTWAIT: a client that does not read its answer must not block the door.
  sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

SessionDoor::SessionDoor(int session_file) : session_file_(session_file), key_(make_key()) {
  if (key_.empty()) return;
  stop_event_ = eventfd(0, EFD_CLOEXEC);
  socket_ = stop_event_ < 0 ? -1 : bind_anywhere(name_);
  if (socket_ < 0) return;
  // Signals are handled by the thread that forwards them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { answer(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SessionDoor::~SessionDoor() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_event_, &one, sizeof one);
    thread_.join();
  }
  if (socket_ >= 0) close(socket_);
  if (stop_event_ >= 0) close(stop_event_);
}

void SessionDoor::answer() {
  for (;;) {
    pollfd events[] = {{socket_, POLLIN, 0}, {stop_event_, POLLIN, 0}};
    if (poll(events, 2, -1) < 0) continue;
    if (events[1].revents != 0) return;
    char key[2 * key_bytes + 1];
    sockaddr_un from{};
    socklen_t from_bytes = sizeof from;
    const ssize_t bytes =
        recvfrom(socket_, key, sizeof key, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &from_bytes);
    const bool is_asked = bytes == static_cast<ssize_t>(key_.size()) &&
                          std::memcmp(key, key_.data(), key_.size()) == 0 &&
                          from_bytes > sizeof from.sun_family;
    if (is_asked) send_file(socket_, from, from_bytes, session_file_);
  }
}

}  // namespace heapwright::collect
