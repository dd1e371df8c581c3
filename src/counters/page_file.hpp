// SPDX-License-Identifier: MIT
// The file of a page of counters: its name and its owner.
#pragma once

#include <errno.h>
#include <fcntl.h>

#include <cstdint>

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
