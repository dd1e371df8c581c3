// SPDX-License-Identifier: MIT
#include "record/session_link.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "platform/raw_syscall.hpp"

extern char** environ;

namespace heapwright::record {

using platform::raw_argument;
using platform::raw_syscall;
using session::Control;
using session::ProcessBlock;

namespace {

// The parsed value of HEAPWRIGHT_SESSION.
struct Way {
  char path[session_text_bytes];
  const char* door;  // an abstract name
  std::size_t door_length;
  const char* door_path;
  std::size_t door_path_length;
  const char* key;
  std::size_t key_length;
  std::uint64_t device;
  std::uint64_t inode;
};

char found_session_text[session_text_bytes];
constexpr long answer_seconds = 10;

bool is_error(long result) noexcept { return result < 0 && result > -4096; }

void keep_out_of_core_dumps(long address, std::size_t bytes) noexcept {
  raw_syscall(SYS_madvise, address, static_cast<long>(bytes), MADV_DONTDUMP);
}

void* map_shared(int file, std::uint64_t offset, std::size_t bytes) noexcept {
  const long address = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_NORESERVE, file, static_cast<long>(offset));
  if (is_error(address)) return nullptr;
  keep_out_of_core_dumps(address, bytes);
  return reinterpret_cast<void*>(address);
}

bool starts_with(const char* text, const char* prefix) noexcept {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

void remove(char** variable) noexcept {
  do {
    variable[0] = variable[1];
  } while (*variable++ != nullptr);
}

// Removes our own library from a list of libraries, in place.
void remove_self(char* list) noexcept {
  char* write = list;
  while (*list != '\0') {
    char* end = list;
    while (*end != '\0' && *end != ':' && *end != ' ') ++end;
    const char separator = *end;
    *end = '\0';
    const bool is_ours = std::strstr(list, "libheapwright-record.so") != nullptr;
    *end = separator;
    const std::size_t length = static_cast<std::size_t>(end - list) + (separator != '\0' ? 1 : 0);
    if (!is_ours) {
      std::memmove(write, list, length);
      write += length;
    }
    list += length;
  }
  *write = '\0';
}

// The field up to the next colon; advances `text` past it.
const char* take_field(const char*& text, std::size_t& length) noexcept {
  const char* field = text;
  while (*text != '\0' && *text != ':') ++text;
  length = static_cast<std::size_t>(text - field);
  if (*text == ':') ++text;
  return field;
}

std::uint64_t take_number(const char*& text) noexcept {
  std::size_t length = 0;
  const char* digits = take_field(text, length);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < length; ++i) number = number * 10 + static_cast<std::uint64_t>(digits[i] - '0');
  return number;
}

Way take_apart(const char* text) noexcept {
  Way way{};
  std::size_t length = 0;
  const char* path = take_field(text, length);
  std::memcpy(way.path, path, length);
  way.door = take_field(text, way.door_length);
  way.door_path = take_field(text, way.door_path_length);
  way.key = take_field(text, way.key_length);
  way.device = take_number(text);
  way.inode = take_number(text);
  return way;
}

bool is_session(int file, const Way& way) noexcept {
  struct stat status {};
  return raw_syscall(SYS_fstat, file, raw_argument(&status)) == 0 && status.st_dev == way.device &&
         status.st_ino == way.inode;
}

// The descriptor in a message, -1 if there is none.
int receive_file(int socket) noexcept {
  char text[1];
  iovec part{text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (raw_syscall(SYS_recvmsg, socket, raw_argument(&message), MSG_CMSG_CLOEXEC) < 0) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof file);
  return file;
}

int ask_at(const sockaddr_un& door, std::size_t door_bytes, const Way& way) noexcept {
  const auto socket = static_cast<int>(raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (socket < 0) return -1;
  const timeval patience{answer_seconds, 0};
  raw_syscall(SYS_setsockopt, socket, SOL_SOCKET, SO_RCVTIMEO, raw_argument(&patience), sizeof patience);
  raw_syscall(SYS_setsockopt, socket, SOL_SOCKET, SO_SNDTIMEO, raw_argument(&patience), sizeof patience);
  int file = -1;
  if (raw_syscall(SYS_connect, socket, raw_argument(&door), static_cast<long>(door_bytes)) == 0 &&
      raw_syscall(SYS_sendto, socket, raw_argument(way.key), static_cast<long>(way.key_length),
                  MSG_NOSIGNAL) > 0) {
    file = receive_file(socket);
  }
  raw_syscall(SYS_close, socket);
  return file;
}

// is_abstract: at the name that is in no folder, else at the path.
int ask_at_door(const Way& way, bool is_abstract) noexcept {
  sockaddr_un door{};
  door.sun_family = AF_UNIX;
  const std::size_t before = is_abstract ? 1 : 0;  // a null byte
  const std::size_t length = is_abstract ? way.door_length : way.door_path_length;
  if (length == 0 || before + length >= sizeof door.sun_path || way.key_length == 0) return -1;
  std::memcpy(door.sun_path + before, is_abstract ? way.door : way.door_path, length);
  const std::size_t bytes = offsetof(sockaddr_un, sun_path) + before + length + (is_abstract ? 0 : 1);
  return ask_at(door, bytes, way);
}

}  // namespace

const char* session_text() noexcept { return found_session_text; }

bool find_session_text() noexcept {
  if (found_session_text[0] != '\0') return true;
  // A program with more rights than its caller must not obey the caller's environment.
  if (getauxval(AT_SECURE) != 0 || environ == nullptr) return false;
  constexpr std::size_t name_length = sizeof session::session_variable - 1;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!starts_with(*variable, session::session_variable) || (*variable)[name_length] != '=') continue;
    const char* value = *variable + name_length + 1;
    const std::size_t length = std::strlen(value);
    if (length == 0 || length >= sizeof found_session_text) return false;
    std::memcpy(found_session_text, value, length + 1);
    return true;
  }
  return false;
}

void remove_session_from(char** variables) noexcept {
  for (char** variable = variables; *variable != nullptr;) {
    bool is_removed = starts_with(*variable, session::session_variable);
    if (starts_with(*variable, "LD_PRELOAD=")) {
      char* value = *variable + sizeof "LD_PRELOAD=" - 1;
      remove_self(value);
      is_removed = *value == '\0';
    }
    if (is_removed) {
      remove(variable);
    } else {
      ++variable;
    }
  }
}

int open_session() noexcept {
  const Way way = take_apart(found_session_text);
  const auto keep_if_session = [&way](int file) {
    if (file < 0 || is_session(file, way)) return file;
    close_session(file);
    return -1;
  };
  auto file = keep_if_session(static_cast<int>(
      raw_syscall(SYS_openat, AT_FDCWD, raw_argument(way.path), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)));
  if (file < 0) file = keep_if_session(ask_at_door(way, true));
  if (file < 0) file = keep_if_session(ask_at_door(way, false));
  return file;
}

void close_session(int file) noexcept { raw_syscall(SYS_close, file); }

Control* map_control(int file) noexcept {
  constexpr std::size_t bytes = session::control_without_starts_bytes;
  auto* control = static_cast<Control*>(map_shared(file, 0, bytes));
  if (control == nullptr) return nullptr;
  if (control->magic == session::magic && control->layout_bytes == sizeof(ProcessBlock) / 4096 &&
      control->is_closed.load(std::memory_order_acquire) == 0) {
    return control;
  }
  unmap_part(control, bytes);
  return nullptr;
}

void* map_part(Control& control, int file, std::uint64_t offset, std::size_t bytes) noexcept {
  if (file >= 0) return map_shared(file, offset, bytes);
  return map_after(&control, offset, bytes);
}

void* map_after(void* mapped, std::size_t skipped_bytes, std::size_t bytes) noexcept {
  // With an old size of 0, mremap makes a second mapping of shared memory, here a longer one.
  const long whole = raw_syscall(SYS_mremap, raw_argument(mapped), 0,
                                 static_cast<long>(skipped_bytes + bytes), MREMAP_MAYMOVE);
  if (is_error(whole)) return nullptr;
  const long begin = whole + static_cast<long>(skipped_bytes);
  if (skipped_bytes != 0) raw_syscall(SYS_munmap, whole, static_cast<long>(skipped_bytes));
  keep_out_of_core_dumps(begin, bytes);
  return reinterpret_cast<void*>(begin);
}

void unmap_part(void* address, std::size_t bytes) noexcept {
  raw_syscall(SYS_munmap, raw_argument(address), static_cast<long>(bytes));
}

}  // namespace heapwright::record
