// SPDX-License-Identifier: MIT
// How a target program says what it did, for the journeys to compare with the
// trace. One line per fact, the count first:
//
//   allocated COUNT SIZE KIND   COUNT calls of KIND asked for SIZE and got it
//   failed    COUNT SIZE KIND   COUNT calls of KIND asked for SIZE and got none
//   released  COUNT SIZE KIND   COUNT blocks of SIZE were given back by KIND
//   called    COUNT KIND        COUNT calls in all, libraries included
//   note      WORD VALUE        something for the one test that reads it
//
// Sizes are odd and above 3,000, so that no library asks for the same.
#pragma once

#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Writes without stdio's buffers, which would allocate.
[[gnu::format(printf, 1, 2)]] inline void say(const char* format, ...) {
  char line[512];
  va_list values;
  va_start(values, format);
  const int length = std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  if (length > 0 && ::write(1, line, static_cast<std::size_t>(length)) < 0) std::_Exit(111);
}

// Keeps the compiler from dropping an allocation nobody reads.
inline void* volatile last_block = nullptr;
inline void* keep(void* block) {
  last_block = block;
  return block;
}

#define REQUIRE(condition)                                            \
  do {                                                                \
    if (!(condition)) {                                               \
      say("failed_check %s:%d %s\n", __FILE__, __LINE__, #condition); \
      ::_exit(112);                                                   \
    }                                                                 \
  } while (false)
