// SPDX-License-Identifier: MIT
// The file of a page of counters: its name and its owner.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/raw_syscall.hpp"

namespace heapwright::counters {

struct PageName {
  char text[64];
};

// "/dev/shm/heapwright-PID", then `ending`.
inline PageName page_name(long process, const char* ending = "") noexcept {
  PageName name;
  char* end = name.text;
  for (const char* letter = "/dev/shm/heapwright-"; *letter != '\0'; ++letter) *end++ = *letter;
  char digits[20];
  int count = 0;
  for (long rest = process; rest > 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
  while (count > 0) *end++ = digits[--count];
  for (; *ending != '\0'; ++ending) *end++ = *ending;
  *end = '\0';
  return name;
}

// A new file that no other process can have opened. Negative: -errno.
inline long create_page(const PageName& name) noexcept {
  return platform::raw_syscall(SYS_openat, AT_FDCWD, platform::raw_argument(name.text),
                               O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

// For one process: pages of its earlier images that are still to be read, or that belong to another user.
inline constexpr int max_numbered = 1000;

// `ending`, then ".1" to ".1000".
inline PageName numbered_name(long process, const char* ending, int number) noexcept {
  char numbered[16];
  char* end = numbered;
  while (*ending != '\0') *end++ = *ending++;
  *end++ = '.';
  for (int digit = max_numbered; digit > 0; digit /= 10) {
    if (number >= digit) *end++ = static_cast<char>('0' + number / digit % 10);
  }
  *end = '\0';
  return page_name(process, numbered);
}

// Handles the case that another file has the process's name and it may not move it: one from before it
// changed its user. Then uses the first free number. `name` receives the result.
inline long create_page_of(long process, const char* ending, PageName& name) noexcept {
  name = page_name(process, ending);
  long file = create_page(name);
  for (int number = 1; file == -EEXIST && number <= max_numbered; ++number) {
    name = numbered_name(process, ending, number);
    file = create_page(name);
  }
  return file;
}

inline long remove_page(const PageName& name) noexcept {
  return platform::raw_syscall(SYS_unlinkat, AT_FDCWD, platform::raw_argument(name.text));
}

// Puts a page that is alone in its pages of memory into a file, with its current values. False: it stays as
// it is, and there is no file. `name` receives the file's, in either case.
inline bool move_into_file(void* page, std::size_t bytes, const char* ending, PageName& name) noexcept {
  const auto whole = static_cast<long>(bytes);
  const long at = platform::raw_argument(page);
  const long process = platform::raw_syscall(SYS_getpid);
  name = page_name(process, ending);
  rlimit limit{};  // writing more than that would end the process
  if (platform::raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, platform::raw_argument(&limit)) != 0 ||
      limit.rlim_cur < bytes) {
    return false;
  }
  remove_page(name);  // of an earlier process
  const long file = create_page_of(process, ending, name);
  if (file < 0) return false;
  bool is_done = platform::raw_syscall(SYS_write, file, at, whole) == whole;
  if (is_done) {
    is_done = platform::raw_syscall(SYS_mmap, at, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                                    0) == at;
  }
  platform::raw_syscall(SYS_close, file);
  if (!is_done) remove_page(name);
  return is_done;
}

// A forked child must not count in its parent's file.
inline bool move_out_of_file(void* page, std::size_t bytes) noexcept {
  const auto whole = static_cast<long>(bytes);
  const long at = platform::raw_argument(page);
  const long copy =
      platform::raw_syscall(SYS_mmap, 0, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy < 0) return false;
  std::memcpy(reinterpret_cast<void*>(copy), page, bytes);
  return platform::raw_syscall(SYS_mremap, copy, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at;
}

// Field 22 of /proc/PID/stat; the parenthesized name before it may contain anything. 0: unknown.
inline std::uint64_t process_start_ticks(const char* path = "/proc/self/stat") noexcept {
  const long file =
      platform::raw_syscall(SYS_openat, AT_FDCWD, platform::raw_argument(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[512];
  const long length = platform::raw_syscall(SYS_read, file, platform::raw_argument(text), sizeof text);
  platform::raw_syscall(SYS_close, file);
  long at = length;
  while (at > 0 && text[at - 1] != ')') --at;
  if (at <= 0) return 0;
  for (int spaces = 0; spaces < 20; ++at) {
    if (at == length) return 0;
    spaces += text[at] == ' ' ? 1 : 0;
  }
  std::uint64_t ticks = 0;
  for (; at < length && text[at] >= '0' && text[at] <= '9'; ++at) {
    ticks = ticks * 10 + static_cast<std::uint64_t>(text[at] - '0');
  }
  return ticks;
}

}  // namespace heapwright::counters
