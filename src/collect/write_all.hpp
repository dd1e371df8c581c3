// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace heapwright::collect {

// Writes everything, however many calls it takes. False, with errno set, on failure.
inline bool write_all(int file, const void* bytes, std::size_t count) {
  const char* next = static_cast<const char*>(bytes);
  while (count != 0) {
    const ssize_t written = write(file, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace heapwright::collect
