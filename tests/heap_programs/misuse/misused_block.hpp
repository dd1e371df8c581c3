// SPDX-License-Identifier: MIT
// Tells the test which block is misused, without a call that allocates.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../public_names.hpp"

inline unsigned char* tell(void* block, std::size_t usable_bytes = 0) {
  char line[60];
  const int length = usable_bytes == 0 ? std::snprintf(line, sizeof line, "%p\n", block)
                                       : std::snprintf(line, sizeof line, "%p %zu\n", block, usable_bytes);
  if (::write(1, line, static_cast<std::size_t>(length)) < 0) std::_Exit(111);
  return static_cast<unsigned char*>(keep(block));
}

// For lines of the default mode, which knows blocks by their usable sizes only.
inline unsigned char* tell_with_size(void* block) { return tell(block, malloc_usable_size(block)); }
