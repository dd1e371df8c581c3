// SPDX-License-Identifier: MIT
#include "apply/resident.hpp"

#include <fcntl.h>

#include "platform/raw_syscall.hpp"

namespace heapwright::apply {

using platform::raw_argument;
using platform::raw_syscall;

std::uint64_t resident_bytes() noexcept {
  const long file = raw_syscall(SYS_openat, AT_FDCWD, raw_argument("/proc/self/statm"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128] = {};
  const long length = raw_syscall(SYS_read, file, raw_argument(text), sizeof text);
  raw_syscall(SYS_close, file);
  long at = 0;
  while (at < length && text[at] != ' ') ++at;
  std::uint64_t pages = 0;
  for (++at; at < length && text[at] >= '0' && text[at] <= '9'; ++at) {
    pages = pages * 10 + static_cast<std::uint64_t>(text[at] - '0');
  }
  constexpr std::uint64_t page_bytes = 4096;
  return pages * page_bytes;
}

}  // namespace heapwright::apply
