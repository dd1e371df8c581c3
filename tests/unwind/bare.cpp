// SPDX-License-Identifier: MIT
// Functions without unwind tables, compiled with and without frame pointers. Each notes where it returns to.
#include "bare.hpp"

// framed_call, frameless_call
#define BARE_JOINED(kind, name) kind##_##name
#define BARE_NAMED(kind, name) BARE_JOINED(kind, name)
#define BARE(name) BARE_NAMED(BARE_KIND, name)

extern "C" {

[[gnu::noinline]] int BARE(leaf)(Bare& to) {
  to.returns[to.depth++] = __builtin_return_address(0);
  const int result = to.capture(to);
  asm volatile("" : : "r"(&to) : "memory");
  return result + 1;
}

[[gnu::noinline]] int BARE(call)(Bare& to, int levels) {
  int room[8];
  asm volatile("" : : "r"(room) : "memory");
  to.returns[to.depth++] = __builtin_return_address(0);
  const int result = levels == 0 ? BARE(leaf)(to) : BARE(call)(to, levels - 1);
  asm volatile("" : : "r"(room) : "memory");
  return result + 1;
}

}  // extern "C"
