// SPDX-License-Identifier: MIT
// The name of a process's program: that of the path it was executed by, so that a script has its own.
#pragma once

#include <cstring>
#include <initializer_list>

namespace heapwright::counters {

// Behind the last slash. nullptr: the path is one by which a process reaches itself or an open file
// (/proc/self/exe, /dev/fd/3), and the name is that of the file behind it.
inline const char* name_in_path(const char* path) noexcept {
  for (const char* folder : {"/proc/", "/dev/fd/"}) {
    if (std::strncmp(path, folder, std::strlen(folder)) == 0) return nullptr;
  }
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

}  // namespace heapwright::counters
