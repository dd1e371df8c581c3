// SPDX-License-Identifier: MIT
// Tells the test which block is misused, without a call that allocates.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../public_names.hpp"

inline unsigned char* tell(void* block) {
  char line[40];
  const int length = std::snprintf(line, sizeof line, "%p\n", block);
  if (::write(1, line, static_cast<std::size_t>(length)) < 0) std::_Exit(111);
  return static_cast<unsigned char*>(keep(block));
}
